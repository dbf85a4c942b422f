"""The words of the game; nothing here imports anything else of ours."""
