"""Matrix products and what is built on them."""
