-- When a kept message expires, and when it was marked as expired (sql/write/early-messages.ts). Messages of
-- older versions expire seven days after they were sent.
ALTER TABLE kept ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE kept ADD COLUMN expired_at INTEGER; -- NULL: not marked. Set: `data` is the empty text.
UPDATE kept SET expires_at = created_at + 604800000;
DROP INDEX kept_age;
-- Messages that expire next.
CREATE INDEX kept_due ON kept (expires_at) WHERE expired_at IS NULL;
-- Expired entries, which are deleted after a while.
CREATE INDEX kept_expired ON kept (expired_at) WHERE expired_at IS NOT NULL;
