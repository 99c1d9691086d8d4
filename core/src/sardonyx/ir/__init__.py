"""The IR: graphs, values, types, and their loading and saving."""
