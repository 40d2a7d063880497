-- Lists and counts by id prefix (read/listing.ts) read the keys from the index on ids, not from the rows of
-- all matches.
ALTER TABLE instances
  DROP CONSTRAINT instances_id_key,
  ADD CONSTRAINT instances_id_key UNIQUE (id) INCLUDE (key);
