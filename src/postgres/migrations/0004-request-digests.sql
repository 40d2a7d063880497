-- A digest of the request, so that its id cannot be reused for another request. NULL: the caller gave no
-- digest.

ALTER TABLE requests ADD COLUMN digest text COLLATE "C";
ALTER TABLE arrivals ADD COLUMN digest text COLLATE "C";
ALTER TABLE kept ADD COLUMN digest text COLLATE "C";
