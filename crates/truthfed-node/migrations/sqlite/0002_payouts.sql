-- What was transferred to members: postings of a payout have its reference instead of a round. And one entry may decide about
-- payments of several rounds to one member, which waited.

ALTER TABLE postings RENAME TO postings_of_rounds;

CREATE TABLE postings (
    number    INTEGER PRIMARY KEY CHECK (number >= 1),
    entry     INTEGER NOT NULL REFERENCES journal (number),
    round     INTEGER CHECK (round BETWEEN 1 AND 9223372036854775806),
    member    TEXT NOT NULL,
    account   TEXT NOT NULL CHECK (account IN ('treasury', 'escrow', 'member', 'paid-out')),
    micros    INTEGER NOT NULL,
    reference TEXT,
    UNIQUE (entry, member, account, round),
    CHECK ((round IS NULL) <> (reference IS NULL))
) STRICT;

INSERT INTO postings SELECT number, entry, round, member, account, micros, NULL FROM postings_of_rounds;
DROP TABLE postings_of_rounds;

-- Nobody is paid twice in one round, and no payout is recorded twice.
CREATE UNIQUE INDEX postings_paid_once ON postings (round, member) WHERE account = 'member';
CREATE UNIQUE INDEX postings_paid_out_once ON postings (member, reference) WHERE account = 'paid-out';
-- What is owed to a member is the sum of these.
CREATE INDEX postings_of_members ON postings (member) WHERE account = 'member';

CREATE TRIGGER postings_keeps_rows BEFORE UPDATE ON postings BEGIN SELECT RAISE(ABORT, 'postings is append-only'); END;
CREATE TRIGGER postings_loses_none BEFORE DELETE ON postings BEGIN SELECT RAISE(ABORT, 'postings is append-only'); END;
