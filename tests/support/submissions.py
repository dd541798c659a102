"""Act between the check and the storing of a submission."""

from scores.intake import storing, submission


def before_the_write(monkeypatch):
    """Return `install(act)`: `act()` once, when a submission has been checked and is about to be stored."""

    def install(act):
        original, acted = storing.store, []

        def store(*args):
            if not acted:
                acted.append(True)
                act()
            return original(*args)

        monkeypatch.setattr(submission.storing, "store", store)

    return install
