drop view if exists expired_audit_event;
drop view if exists expired_token_revocation;
drop view if exists expired_user_session;
drop view if exists expired_sign_up;
drop view if exists expired_email_change;
drop view if exists expired_password_reset;
