"""The space of designs: parameters by name, the columns they have, and what is discrete in them."""
