PRAGMA integrity_check;
SELECT p.id, p.name, p.height, count(v.day), min(v.day), max(v.note)
FROM person p JOIN visit v ON v.person = p.id GROUP BY p.id ORDER BY p.name COLLATE NOCASE, p.id LIMIT 40;
SELECT id, round(height, 3), height, typeof(picture), hex(picture) FROM person WHERE id BETWEEN 20 AND 40;
SELECT strftime('%Y %j %w', '2024-02-29'), julianday('2000-01-01'), datetime(1e9, 'unixepoch');
SELECT 1 / 3.0, 1e300 * 10, 9223372036854775807, -0.0, 0.1 + 0.2, abs(-7), substr('hello', 2, 3), replace('aXbX', 'X', '--');
SELECT name FROM person WHERE name LIKE 'NAME 12%' ORDER BY name DESC;
EXPLAIN QUERY PLAN SELECT * FROM person WHERE name = 'x';
SELECT group_concat(day, ',') FROM (SELECT day FROM visit WHERE person = 9 ORDER BY day LIMIT 12);
