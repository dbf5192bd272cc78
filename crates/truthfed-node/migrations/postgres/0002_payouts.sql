-- What was transferred to members: postings of a payout have its reference instead of a round. And one entry may decide about
-- payments of several rounds to one member, which waited.

ALTER TABLE truthfed.postings
    ALTER COLUMN round DROP NOT NULL,
    ADD COLUMN reference TEXT,
    DROP CONSTRAINT postings_entry_member_account_key,
    ADD UNIQUE (entry, member, account, round),
    DROP CONSTRAINT postings_account_check,
    ADD CONSTRAINT postings_account_check CHECK (account IN ('treasury', 'escrow', 'member', 'paid-out')),
    ADD CONSTRAINT postings_cause_check CHECK ((round IS NULL) <> (reference IS NULL));

-- No payout is recorded twice.
CREATE UNIQUE INDEX postings_paid_out_once ON truthfed.postings (member, reference) WHERE account = 'paid-out';
-- What is owed to a member is the sum of these.
CREATE INDEX postings_of_members ON truthfed.postings (member) WHERE account = 'member';
