CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, height REAL, picture BLOB);
CREATE INDEX by_name ON person (name);
CREATE TABLE visit (person INTEGER REFERENCES person, day TEXT, note TEXT);
BEGIN;
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
INSERT INTO person SELECT n, 'name ' || ((n * 7919) % 3001), n / 7.0, zeroblob(n % 40) FROM numbers;
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
INSERT INTO visit SELECT n % 97 + 1, date('2001-01-01', n || ' days'), printf('%05d %e %g', n, n * 1.1, 1.0 / n) FROM numbers;
COMMIT;
BEGIN;
DELETE FROM visit;
ROLLBACK;
UPDATE person SET name = upper(name) WHERE id % 3 = 0;
DELETE FROM person WHERE id % 11 = 0;
CREATE TRIGGER log AFTER DELETE ON visit BEGIN UPDATE person SET height = height + 1 WHERE id = old.person; END;
DELETE FROM visit WHERE person = 5;
SELECT count(*), sum(height), max(name), total(length(picture)) FROM person;
VACUUM;
SELECT count(*) FROM visit;
