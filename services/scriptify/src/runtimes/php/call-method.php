<?php

// The program that calls a method: call-method.php [options] -- Class::method [argument …]

// Weak mode on purpose: arguments are texts, and "5" is to satisfy int.
declare(strict_types=0);

foreach (['cli-error', 'caller-options', 'exit-guard', 'target', 'docs', 'daemon', 'task'] as $_) {
    require __DIR__ . "/method/{$_}.php";
}
unset($_);

\Latchkey\Scriptify\Method\Caller::obey(\Latchkey\Scriptify\Method\Orders::read($argv));

// The bootstrap is included here, in the global scope, as an autoloader that sets globals expects.
if (\Latchkey\Scriptify\Method\Caller::bootstrap() !== null) {
    try {
        require_once \Latchkey\Scriptify\Method\Caller::bootstrap();
    } catch (\Throwable $_) {
        \Latchkey\Scriptify\Method\Caller::bootstrapFailed($_);
    }
}

\Latchkey\Scriptify\Method\Caller::go();
