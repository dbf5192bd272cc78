-- Every durable step of a federation, hash-chained, and what follows from it.

CREATE TABLE truthfed.journal (
    number BIGINT PRIMARY KEY CHECK (number >= 1),
    body   TEXT NOT NULL,
    hash   BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32)
);

-- One reply to each request that was taken: a repeated request gets it again.
CREATE TABLE truthfed.replies (
    member  TEXT NOT NULL,
    round   BIGINT NOT NULL CHECK (round BETWEEN 0 AND 9223372036854775806),
    kind    TEXT NOT NULL CHECK (kind IN ('offer', 'delivery', 'decision', 'settlement', 'resolution')),
    request BYTEA NOT NULL CHECK (length(request) = 32),
    body    TEXT NOT NULL,
    PRIMARY KEY (member, kind, round)
);

-- Money, double entry.
CREATE TABLE truthfed.postings (
    number  BIGINT PRIMARY KEY CHECK (number >= 1),
    entry   BIGINT NOT NULL REFERENCES truthfed.journal (number),
    round   BIGINT NOT NULL CHECK (round BETWEEN 1 AND 9223372036854775806),
    member  TEXT NOT NULL,
    account TEXT NOT NULL CHECK (account IN ('treasury', 'escrow', 'member')),
    micros  BIGINT NOT NULL,
    UNIQUE (entry, member, account)
);

-- Nobody is paid twice in one round.
CREATE UNIQUE INDEX postings_paid_once ON truthfed.postings (round, member) WHERE account = 'member';

-- What the coordinator was after the last round that ended.
CREATE TABLE truthfed.standing (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    entry BIGINT NOT NULL REFERENCES truthfed.journal (number),
    body  TEXT NOT NULL
);

-- Who may write: held from `granted` to `expires`, by the clock of the database.
CREATE TABLE truthfed.lease (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    epoch   BIGINT NOT NULL CHECK (epoch >= 0),
    granted TIMESTAMPTZ NOT NULL,
    expires TIMESTAMPTZ NOT NULL
);

INSERT INTO truthfed.lease VALUES (1, 0, 'epoch', 'epoch');

CREATE FUNCTION truthfed.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER journal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON truthfed.journal
    FOR EACH STATEMENT EXECUTE FUNCTION truthfed.refuse_change();
CREATE TRIGGER postings_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON truthfed.postings
    FOR EACH STATEMENT EXECUTE FUNCTION truthfed.refuse_change();
CREATE TRIGGER replies_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON truthfed.replies
    FOR EACH STATEMENT EXECUTE FUNCTION truthfed.refuse_change();
