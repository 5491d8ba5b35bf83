"""From pcaps to knowledge: dissectors, the columnar decoder, the evidence of a run, figures."""
