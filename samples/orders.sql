-- A small database: fill, map, index, group, join, sort, update, scan. Each phase uses memory in a
-- way of its own; samples/README.md shows the trace.
.bail on
pragma temp_store = memory;
pragma synchronous = off;
pragma journal_mode = off;
-- Fill: rows go to the file by way of a small cache, in memory that is used again and again.
create table orders(id integer primary key, customer integer, day integer, form blob);
with recursive n(k, r) as
    (values(1, 7) union all select k + 1, r * 16807 % 2147483647 from n where k < 3500)
insert into orders select k, r % 700, r % 365, zeroblob(3000 + r % 6000) from n;
-- From here on, the file is read through a shared mapping.
pragma mmap_size = 268435456;
-- Index: a scan of the whole file, and a sort of small keys in memory.
create index by_customer on orders(customer);
-- Group: another scan.
select day, count(*), max(length(form)) from orders group by day order by 2 desc limit 3;
-- Join: look-ups through the index, of rows all over the file.
select count(*), sum(length(a.form)) from orders b cross join orders a using(customer)
    where b.id % 100 = 0;
-- Sort: two thirds of the rows with all they have, in memory.
select sum(length(form)) from (select form, day from orders where day < 240 order by day, id);
-- Update: rows here and there are written, and leave holes in the file.
update orders set form = zeroblob(4000) where customer % 9 = 0;
-- Look-ups of a few rows again and again: a small hot set in a large mapped file.
with recursive n(k) as (values(1) union all select k + 1 from n where k < 2500)
select sum(length(form)) from n join orders on orders.id = 1 + k % 50 * 69;
-- Scan: all of the file, once.
select count(*), sum(day) from orders;
