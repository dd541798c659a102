"""Write the sample completions of the demo and the answer key of its grader.

  python tools/demo_completions.py            writes both files; the same text on every machine

25 prompts x 3 invented models x 4 answers. Each answer is one of four sorts:

  good    right, and in the form that was asked for
  loose   right, in another form
  slip    in the form that was asked for, but not right
  lost    neither

The models differ in how often they give each sort (`HABITS`). No model wrote any of this text.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPLETIONS = ROOT / "autotune/site/demo/completions.jsonl"
ANSWERS = ROOT / "examples/demo_grader/answers.json"
SAMPLES = 4

# of 20 answers, how many of each sort
HABITS = {
    "condor-70b": {"good": 15, "loose": 4, "slip": 1, "lost": 0},
    "heron-7b": {"good": 7, "loose": 6, "slip": 5, "lost": 2},
    "wren-1b": {"good": 2, "loose": 4, "slip": 6, "lost": 8},
}


@dataclass(frozen=True)
class Sum:
    """A question whose answer is a number."""

    key: str
    question: str
    working: str
    answer: int
    slip: int  # the result of a careless solver
    form = "answer_line"

    @property
    def prompt(self) -> str:
        return f"{self.question} Show one line of working, then end with a line `Answer: N`."

    def texts(self) -> dict[str, tuple[str, ...]]:
        n, wrong = self.answer, self.slip
        return {
            "good": (
                f"{self.working} = {n}\nAnswer: {n}",
                f"I work it out in one line: {self.working} = {n}.\nAnswer: {n}",
                f"{self.working} gives {n}.\nAnswer: {n}",
            ),
            "loose": (
                f"It is {n}.",
                f"{self.working} = {n}, so the result should be {n}",
                f"The answer to your question is {n}. I hope that helps!",
            ),
            "slip": (
                f"{self.working} = {wrong}\nAnswer: {wrong}",
                f"Adding it all up I get {wrong}.\nAnswer: {wrong}",
            ),
            "lost": (
                "That depends on what is meant. There are several ways to read the question, and in some of them more "
                "would have to be known, so I would rather not commit to a figure here.",
                "Sure! Let us think step by step. First we look at the numbers. Then we think about what they mean. "
                "Then we combine them. After that we check the result and write it down.",
            ),
        }

    def truth(self) -> dict[str, object]:
        return {"form": self.form, "number": self.answer}


@dataclass(frozen=True)
class Form:
    """A question that prescribes the content and the form of its answer."""

    key: str
    prompt: str
    form: str
    words: tuple[str, ...]  # what a correct answer must contain
    good: tuple[str, ...]
    loose: tuple[str, ...]
    slip: tuple[str, ...]
    lost: tuple[str, ...]
    limit: int | None = None

    def texts(self) -> dict[str, tuple[str, ...]]:
        return {"good": self.good, "loose": self.loose, "slip": self.slip, "lost": self.lost}

    def truth(self) -> dict[str, object]:
        truth: dict[str, object] = {"form": self.form, "words": list(self.words)}
        return truth if self.limit is None else {**truth, "limit": self.limit}


SUMS = (
    Sum("sum-01", "A bakery fills 14 trays with 12 rolls each. How many rolls is that?", "14 * 12", 168, 156),
    Sum("sum-02", "Mira reads 18 pages a day. How many pages does she read in two weeks?", "18 * 14", 252, 36),
    Sum("sum-03", "A ticket costs 7 euro. What do 23 tickets cost in euro?", "7 * 23", 161, 154),
    Sum("sum-04", "What is 1,000 minus 387?", "1000 - 387", 613, 623),
    Sum("sum-05", "Five friends share 95 stickers evenly. How many does each get?", "95 / 5", 19, 15),
    Sum(
        "sum-06",
        "A train leaves at 09:40 and arrives at 12:15. How many minutes does it take?",
        "60 * 3 - 25",
        155,
        175,
    ),
    Sum(
        "sum-07",
        "A tank holds 240 litres and loses 8 litres an hour. After how many hours is it empty?",
        "240 / 8",
        30,
        32,
    ),
    Sum("sum-08", "Jo has 3 boxes of 16 pens and gives away 11 pens. How many are left?", "3 * 16 - 11", 37, 48),
    Sum("sum-09", "What is 15 percent of 360?", "360 * 15 / 100", 54, 5),
    Sum("sum-10", "A rectangle is 9 cm by 13 cm. What is its perimeter in cm?", "2 * (9 + 13)", 44, 117),
    Sum("sum-11", "Eggs come in dozens. How many eggs are in seven dozens and a half?", "7 * 12 + 6", 90, 84),
    Sum("sum-12", "A coat of 80 euro is sold at a quarter off. What does it cost in euro?", "80 - 80 / 4", 60, 55),
    Sum(
        "sum-13",
        "Lea saves 35 euro a month and has 120 euro. How much has she after 8 months?",
        "120 + 8 * 35",
        400,
        280,
    ),
)

FORMS = (
    Form(
        "form-01",
        "Name the three primary colours of painting as a JSON array of lower-case strings, and nothing else.",
        "json_array",
        ("red", "yellow", "blue"),
        good=('["red", "yellow", "blue"]', '["blue", "red", "yellow"]'),
        loose=("Red, yellow and blue.", "The primary colours are red, yellow and blue."),
        slip=('["red", "green", "blue"]', '["red", "yellow"]'),
        lost=("There are many colours, and painters like to mix them.",),
    ),
    Form(
        "form-02",
        "List the four cardinal directions as a JSON array of lower-case strings, and nothing else.",
        "json_array",
        ("north", "east", "south", "west"),
        good=('["north", "east", "south", "west"]', '["east", "north", "south", "west"]'),
        loose=("North, east, south, west", "They are: north; east; south; west."),
        slip=('["north", "south"]', '["up", "down", "north", "south"]'),
        lost=("A compass shows you where to go.",),
    ),
    Form(
        "form-03",
        "Give the date of New Year's Eve of 1999 as YYYY-MM-DD, and nothing else.",
        "iso_date",
        ("1999-12-31",),
        good=("1999-12-31",),
        loose=("It is 1999-12-31.", "The date was 1999-12-31, a Friday."),
        slip=("1999-12-24", "2000-01-01"),
        lost=("December 31st, the last day of the year.", "New Year's Eve is when one year ends."),
    ),
    Form(
        "form-04",
        "Is 91 a prime number? Answer with the single word yes or no, in lower case.",
        "one_of",
        ("no",),
        good=("no",),
        loose=("No, because 91 is 7 times 13.", "The answer is no."),
        slip=("yes",),
        lost=("It looks like a prime at first sight.", "91 ends in a 1, which primes often do."),
    ),
    Form(
        "form-05",
        "Is the Pacific larger than the Atlantic? Answer with the single word yes or no, in lower case.",
        "one_of",
        ("yes",),
        good=("yes",),
        loose=("Yes. It is about twice as large.", "I would say yes"),
        slip=("no",),
        lost=("Both are oceans of great size.",),
    ),
    Form(
        "form-06",
        "Explain in at most 12 words why the sky is blue. Name what light does.",
        "at_most_words",
        ("scatter", "blue"),
        good=("Air scatters blue light more than red.", "Molecules scatter short, blue waves most."),
        loose=(
            "When sunlight passes through the air, the molecules of the air scatter the blue part of it far more than "
            "the red part of it.",
        ),
        slip=("It mirrors the blue sea.", "Blue is the colour of air."),
        lost=("Because it has always looked like that to people on the ground, and nobody knows any other way of it.",),
        limit=12,
    ),
    Form(
        "form-07",
        "Say in at most 8 words what a thermometer measures.",
        "at_most_words",
        ("temperature",),
        good=("It measures temperature.", "The temperature of what it touches."),
        loose=("A thermometer is an instrument that is used to measure the temperature of a body or of the air.",),
        slip=("It measures pressure.", "How humid the air is."),
        lost=("A thermometer is a thin glass tube with some red liquid in it that moves up and down in it.",),
        limit=8,
    ),
    Form(
        "form-08",
        "Write the words stop, look and listen on one line, in capitals, separated by single spaces.",
        "capitals",
        ("STOP", "LOOK", "LISTEN"),
        good=("STOP LOOK LISTEN",),
        loose=("Stop, LOOK, then LISTEN! STOP", "The words are STOP, LOOK and LISTEN."),
        slip=("STOP LOOK", "LOOK LISTEN GO"),
        lost=("stop. look. listen.",),
    ),
    Form(
        "form-09",
        "Write the chemical symbols of gold and silver on one line, in capitals, separated by a single space.",
        "capitals",
        ("AU", "AG"),
        good=("AU AG",),
        loose=("Gold is AU and silver is AG.",),
        slip=("AU SI", "GO AG"),
        lost=("Gold and silver are both metals.",),
    ),
    Form(
        "form-10",
        "Give the first five letters of the alphabet as a comma-separated line without spaces, in lower case.",
        "comma_line",
        ("a", "b", "c", "d", "e"),
        good=("a,b,c,d,e",),
        loose=("a, b, c, d, e", "A b c d e - or with commas: a, b, c, d, e."),
        slip=("a,b,c", "a,b,c,d,f"),
        lost=("The alphabet has 26 letters.",),
    ),
    Form(
        "form-11",
        "Give the even numbers from 2 to 8 as a comma-separated line without spaces.",
        "comma_line",
        ("2", "4", "6", "8"),
        good=("2,4,6,8",),
        loose=("2, 4, 6, 8", "The even numbers are 2, 4, 6 and 8."),
        slip=("2,4,6", "1,3,5,7"),
        lost=("Even numbers can be divided without a rest.",),
    ),
    Form(
        "form-12",
        "Name the two planets between Earth and the Sun as a JSON array of lower-case strings, and nothing else.",
        "json_array",
        ("mercury", "venus"),
        good=('["mercury", "venus"]', '["venus", "mercury"]'),
        loose=("Mercury and Venus.", "These are mercury and venus, in this order."),
        slip=('["venus", "mars"]', '["mercury"]'),
        lost=("Planets go round the Sun.",),
    ),
)


def sorts(model: str, rnd: random.Random) -> list[str]:
    """Return the sort of each of a model's answers, by prompt and sample: its habit, shuffled in every 20 answers."""
    deck = [sort for sort, many in HABITS[model].items() for _ in range(many)]
    dealt: list[str] = []
    while len(dealt) < (len(SUMS) + len(FORMS)) * SAMPLES:
        dealt += rnd.sample(deck, len(deck))
    return dealt


def completions() -> list[dict[str, object]]:
    """Return the completions that the demo submits, in a fixed order."""
    rows: list[dict[str, object]] = []
    for model in HABITS:
        rnd = random.Random(f"autotune demo {model}")
        dealt = iter(sorts(model, rnd))
        for question in (*SUMS, *FORMS):
            texts = question.texts()
            for sample in range(1, SAMPLES + 1):
                rows.append(
                    {
                        "externalId": f"demo-1/{question.key}/{model}/{sample}",
                        "modelId": model,
                        "prompt": question.prompt,
                        "response": rnd.choice(texts[next(dealt)]),
                        "metadata": {"promptId": question.key, "sample": sample},
                    }
                )
    return rows


def answers() -> dict[str, dict[str, object]]:
    """Return the grader's own answer key, by prompt id. The platform never sees it."""
    return {question.key: question.truth() for question in (*SUMS, *FORMS)}


def completions_text() -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in completions())


def answers_text() -> str:
    return json.dumps(answers(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    COMPLETIONS.write_text(completions_text(), encoding="utf-8")
    ANSWERS.write_text(answers_text(), encoding="utf-8")
    print(f"{len(completions())} completions, {len(answers())} answers")
