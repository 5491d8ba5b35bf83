"""What the rules that no paper has promise of the machines themselves, watched in cases that explore draws."""
