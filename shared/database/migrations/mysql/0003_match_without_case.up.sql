-- Two addresses that differ only by case are one. Accents count, which the default collation would ignore.
alter table users
  modify email varchar(120) character set utf8mb4
    /*!80000 collate utf8mb4_0900_as_ci */ /*M!101000 collate utf8mb4_uca1400_nopad_as_ci */,
  modify username varchar(20) character set utf8mb4
    /*!80000 collate utf8mb4_0900_as_ci */ /*M!101000 collate utf8mb4_uca1400_nopad_as_ci */ not null;
