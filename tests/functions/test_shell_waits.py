"""Which command lines wait for a person at a terminal.

spec: @command_policies
"""

from __future__ import annotations

import json

import pytest

from engine.functions.shell.lines import shell_read

WAIT = """
git add . -p
git add -pv
git -C x rebase -i
git -C x rebase -i main
git -c a.b=c --git-dir=x rebase main -i
git commit
git commit -a
git commit --amend
git commit -em x
git commit -c HEAD
git merge --continue
git tag -a v1
git checkout -p
git stash push -p
git stash -p
git clean -i
git config --global -e
git branch --edit-description
git mergetool
git notes add
bash -i
bash -il
bash --norc
zsh -f
python -i x.py
python -m pdb x.py
ipython -i x.py
docker run -it ubuntu bash
docker run --rm -ti -v a:b ubuntu
docker exec -i -t c bash
docker compose exec -it web sh
docker compose -f x.yml run -it web sh
docker attach c
kubectl exec pod -it -- bash
kubectl -n a exec -it pod -- sh
kubectl edit deploy x
psql
psql mydb
psql -h h -U u db
mysql -uroot db
mariadb
sqlite3
sqlite3 x.db
sqlite3 -header x.db
mongosh
redis-cli -h x
node -i
node inspect x.js
gdb ./a.out
lldb x
crontab -e
crontab -u bob -e
visudo
vipw
sudo -s
sudo -i
sudo -u bob -s
sudo -e /etc/hosts
systemctl edit x
sudo systemctl edit x
npm init
php -a
perl -d x.pl
sh -c 'git commit'
cd x && git commit
python3 -i
"""
DO_NOT = """
git add .
git add -A
git log -p
git diff -p
git commit -m x
git commit -am x
git commit -F msg
git commit --amend --no-edit
git commit -C HEAD
git commit --fixup HEAD
git commit -m x -i f
GIT_EDITOR=true git commit
git -c core.editor=true rebase --continue
GIT_SEQUENCE_EDITOR=: git rebase -i HEAD~3
git rebase main
git rebase origin/add-index
git rebase --ignore-date main
git rebase --abort
git stash
git stash show -p
git tag v1
git tag -am x v1
git tag -l
git checkout -b p
git reset --hard
git commit --help
git status
git merge x
git -C x status
git config user.name x
git show -p
yes | git add -p
bash -ic ls
bash x.sh
bash -lc ls
python x.py -i
python -c 'x'
python -m pytest -i
python -m pdb -c continue x.py
docker run ubuntu ls
docker run -dit ubuntu
docker run -i ubuntu cat
docker run ubuntu bash -it
docker exec c ls
docker compose up -d
docker build -t x .
kubectl get pods
kubectl logs x -t
psql -c 'select 1'
psql -h h -U u db -c 'x'
psql db -f x.sql
psql db < x.sql
echo x | psql db
mysql -uroot db -e 'select 1'
mysql db < x
sqlite3 x.db 'select 1'
sqlite3 x.db < y
sqlite3 --version
mongosh --eval x
redis-cli ping
redis-cli -h x get y
node x.js
node -e 1
node x.js -i
gdb -batch -ex run ./a.out
crontab -l
crontab file
visudo -c
sudo ls
sudo -u bob ls
sudo -n true
sudo -i ls
systemctl restart x
npm init -y
npm install
php x.php
perl -e 1
ruby -i.bak x
command -v vipw
psql -l
"""


def waiting(line: str) -> bool:
    return any(each["waits"] for each in json.loads(shell_read(line) or "")["programs"])


@pytest.mark.parametrize("line", WAIT.strip().splitlines())
def test_a_line_that_opens_an_editor_or_asks_waits(line: str) -> None:
    assert waiting(line)


@pytest.mark.parametrize("line", DO_NOT.strip().splitlines())
def test_a_line_that_is_told_what_to_do_does_not(line: str) -> None:
    assert not waiting(line)


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        ("git -C a -c b.c=d --no-pager push x", "push x"),
        ("git --git-dir=a push", "push"),
        ("git push -C a", None),
        ("docker -H tcp://a run b", "run b"),
        ("kubectl -n a exec b", "exec b"),
        ("make -C a b", None),
    ],
)
def test_a_subcommand_is_found_behind_the_options_of_its_program(line: str, behind: str | None) -> None:
    assert json.loads(shell_read(line) or "")["programs"][0]["behind"] == behind
