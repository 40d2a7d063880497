-- History as a table with row ids (docs/decisions/0036). In a table WITHOUT ROWID, SQLite compares keys by
-- reading each compared row with all its overflow pages: adding a row of 20 kB read a dozen others. The columns
-- and the primary key are unchanged.
CREATE TABLE new_history (
  instance  INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  data      TEXT NOT NULL,
  checksum  INTEGER,
  PRIMARY KEY (instance, execution, first)
) STRICT;
INSERT INTO new_history
  SELECT instance, execution, first, last, data, checksum FROM history
  ORDER BY instance, execution, first;
DROP TABLE history;
ALTER TABLE new_history RENAME TO history;
