-- What a request asked for, so that its id cannot be used for another one. NULL: the caller gave no digest.

ALTER TABLE requests ADD COLUMN digest text COLLATE "C";
ALTER TABLE arrivals ADD COLUMN digest text COLLATE "C";
ALTER TABLE kept ADD COLUMN digest text COLLATE "C";
