-- What a runtime found when it last compared the leases listed for it with its memory (runtimes.ts).
ALTER TABLE runtimes ADD COLUMN leases_checked_at INTEGER;
ALTER TABLE runtimes ADD COLUMN leases_stranded INTEGER NOT NULL DEFAULT 0;
