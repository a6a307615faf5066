"""The cases of the corpus, one file for what each is about; `programs.py` makes programs of them."""
