"""Template filters of the pages of graders: the functions of `graders/pages/explanations.py`."""

from django import template

from graders.pages import explanations

register = template.Library()

for explain in (
    *(explanations.advice, explanations.fault, explanations.advice_for, explanations.trouble),
    *(explanations.pause, explanations.check_name, explanations.visibility),
):
    register.filter(explain.__name__, explain)
