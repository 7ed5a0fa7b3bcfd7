"""Used books as the bookshop Aladin lists them: nested in one document each, or flat, one document per offer."""
