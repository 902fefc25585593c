-- Offer of delegation: its tools, which are closed in a run that may not delegate.
-- spec: @modules @delegation

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, schema, meaning) values
    ('subtask', 90, 1, 0, '["ask","act"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the complete task: the child knows nothing else"},
            "model": {"type": "string", "description": "a model that costs no more than yours"},
            "accept": {"type": "string", "description": "criteria for the result, checked by a judge"},
            "accept_command": {"type": "string", "description": "a command line that accepts the result by the exit code 0"},
            "accept_attempts": {"type": "integer", "minimum": 1, "description": "results that are checked, 2 by default"},
            "accept_model": {"type": "string", "description": "the model that judges; none: yours"},
            "output": {"type": "string", "description": "a JSON Schema that the answer has to fit"}
        }, "required": ["body"]}'),
        'delegate a part of the task to a child run'),
    ('execute', 91, 1, 0, '["ask","act"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the steps, exactly: a cheap model carries them out"},
            "accept": {"type": "string", "description": "criteria for the result, checked by a judge"},
            "accept_command": {"type": "string", "description": "a command line that accepts the result by the exit code 0"},
            "accept_attempts": {"type": "integer", "minimum": 1, "description": "results that are checked, 2 by default"},
            "accept_model": {"type": "string", "description": "the model that judges; none: yours"},
            "output": {"type": "string", "description": "a JSON Schema that the answer has to fit"}
        }, "required": ["body"]}'),
        'let the cheapest model carry out clear steps')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised, modes = excluded.modes,
        schema = excluded.schema, meaning = excluded.meaning;

insert into module_offers (module, kind, name) values
    ('delegation', 'setting', 'max_depth'),
    ('delegation', 'option', 'max_depth')
on conflict do nothing;
