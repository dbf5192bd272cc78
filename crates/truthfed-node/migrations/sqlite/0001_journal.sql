-- Every durable step of a federation, hash-chained, and what follows from it.

CREATE TABLE journal (
    number INTEGER PRIMARY KEY CHECK (number >= 1),
    body   TEXT NOT NULL,
    hash   BLOB NOT NULL UNIQUE CHECK (length(hash) = 32)
) STRICT;

-- One reply to each request that was taken: a repeated request gets it again.
CREATE TABLE replies (
    member  TEXT NOT NULL,
    round   INTEGER NOT NULL CHECK (round BETWEEN 0 AND 9223372036854775806),
    kind    TEXT NOT NULL CHECK (kind IN ('offer', 'delivery', 'decision', 'settlement', 'resolution')),
    request BLOB NOT NULL CHECK (length(request) = 32),
    body    TEXT NOT NULL,
    PRIMARY KEY (member, kind, round)
) STRICT, WITHOUT ROWID;

-- Money, double entry.
CREATE TABLE postings (
    number  INTEGER PRIMARY KEY CHECK (number >= 1),
    entry   INTEGER NOT NULL REFERENCES journal (number),
    round   INTEGER NOT NULL CHECK (round BETWEEN 1 AND 9223372036854775806),
    member  TEXT NOT NULL,
    account TEXT NOT NULL CHECK (account IN ('treasury', 'escrow', 'member')),
    micros  INTEGER NOT NULL,
    UNIQUE (entry, member, account)
) STRICT;

-- Nobody is paid twice in one round.
CREATE UNIQUE INDEX postings_paid_once ON postings (round, member) WHERE account = 'member';

-- What the coordinator was after the last round that ended.
CREATE TABLE standing (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    entry INTEGER NOT NULL REFERENCES journal (number),
    body  TEXT NOT NULL
) STRICT;

-- Who may write: held from `granted_ms` to `expires_ms`, milliseconds since 1970.
CREATE TABLE lease (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    epoch      INTEGER NOT NULL CHECK (epoch >= 0),
    granted_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;

INSERT INTO lease VALUES (1, 0, 0, 0);

CREATE TRIGGER journal_keeps_rows BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
CREATE TRIGGER journal_loses_none BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
CREATE TRIGGER postings_keeps_rows BEFORE UPDATE ON postings BEGIN SELECT RAISE(ABORT, 'postings is append-only'); END;
CREATE TRIGGER postings_loses_none BEFORE DELETE ON postings BEGIN SELECT RAISE(ABORT, 'postings is append-only'); END;
CREATE TRIGGER replies_keeps_rows BEFORE UPDATE ON replies BEGIN SELECT RAISE(ABORT, 'replies is append-only'); END;
CREATE TRIGGER replies_loses_none BEFORE DELETE ON replies BEGIN SELECT RAISE(ABORT, 'replies is append-only'); END;
