"""From pcaps to knowledge: dissectors, the columnar decoder, the history of a run, tables, figures."""
