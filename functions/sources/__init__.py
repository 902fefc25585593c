"""What source files define."""
