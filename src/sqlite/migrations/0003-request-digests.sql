-- A digest of the request, so that its id cannot be reused for another request. NULL: the caller gave no
-- digest.

ALTER TABLE requests ADD COLUMN digest TEXT;
ALTER TABLE kept ADD COLUMN digest TEXT;
