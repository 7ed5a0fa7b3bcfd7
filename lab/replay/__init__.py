"""Dead letters: what lies in their topic, and how they are sent again."""
