"""Ways to break the server's saves below its own code, so that the harness can show that it would notice."""

from .database import Database

EVERY = 50  # of so many saves one is broken


def doubled(database: Database) -> None:
    """The unique constraint on a score's run is gone, and some scores are stored a second time."""
    _drop_unique(database)
    _trigger(
        database,
        "after insert on scores_score",
        "if pg_trigger_depth() = 1 and {chosen} then"
        "  insert into scores_score select (jsonb_populate_record(new, jsonb_build_object('id', gen_random_uuid()))).*;"
        " end if; return null;",
    )


def lost(database: Database) -> None:
    """Some scores are never stored, though their runs are completed."""
    _trigger(database, "before insert on scores_score", "if {chosen} then return null; end if; return new;")


def wrong(database: Database) -> None:
    """Some scores get a value that the grader did not give."""
    _trigger(
        database, "before insert on scores_score", "if {chosen} then new.value := new.value / 2; end if; return new;"
    )


KINDS = {"doubled": doubled, "lost": lost, "wrong": wrong}


def _drop_unique(database: Database) -> None:
    for (name,) in database.rows(
        "select conname from pg_constraint where conrelid = 'scores_score'::regclass and contype = 'u'"
    ):
        database.rows(f'alter table scores_score drop constraint "{name}"')


def _trigger(database: Database, when: str, body: str) -> None:
    chosen = f"('x' || left(md5(new.run_id::text), 8))::bit(32)::bigint % {EVERY} = 0"
    database.rows(
        "create function faults_sabotage() returns trigger language plpgsql as $$ begin "
        + body.format(chosen=chosen)
        + " end $$"
    )
    database.rows(f"create trigger faults_sabotage {when} for each row execute function faults_sabotage()")
