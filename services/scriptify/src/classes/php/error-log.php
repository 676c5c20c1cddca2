<?php

// The error_log of php.ini is obeyed. Without one, php would log to standard error, where it shows each message already.
if ((string) ini_get('error_log') === '') {
    ini_set('log_errors', '0');
}
