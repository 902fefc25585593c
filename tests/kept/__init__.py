"""Files with runs of earlier builds, and what makes them."""
