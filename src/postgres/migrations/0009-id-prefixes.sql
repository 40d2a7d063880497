-- Lists and counts by id prefix (listing.ts) find keys in the index on ids and do not read the rows of all matches.
ALTER TABLE instances
  DROP CONSTRAINT instances_id_key,
  ADD CONSTRAINT instances_id_key UNIQUE (id) INCLUDE (key);
