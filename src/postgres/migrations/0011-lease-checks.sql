-- The result of a runtime's last comparison of its stored leases with those in its memory
-- (lease/runtimes.ts).
ALTER TABLE runtimes ADD COLUMN leases_checked_at bigint;
ALTER TABLE runtimes ADD COLUMN leases_stranded bigint NOT NULL DEFAULT 0;
