"""Valence and arousal of English sentences, and the similarity of two moods: pure functions.

The weights were fitted on EmoBank; NOTICE.md in this folder has the method and the licence.
"""
