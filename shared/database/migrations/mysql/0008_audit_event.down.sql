drop table if exists audit_event;
