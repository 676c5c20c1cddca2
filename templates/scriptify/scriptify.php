<?php

// The preload file of `scriptify terminal` in php. Change it as you like: it is included once, in the session's own scope,
// and its `use` lines apply to the whole session. A change takes effect in the next terminal, or after `.reload`.

if (!class_exists('ScriptifyExecutor')) {
    /** A database executor that connects by PDO when it is first used, so that the terminal starts without a database. */
    final class ScriptifyExecutor
    {
        /** Whatever a server has set, a session reads and writes as Latchkey does. A pooler passes these options on. */
        private const POSTGRES_SESSION = '-c DateStyle=ISO,\\ MDY -c IntervalStyle=postgres -c TimeZone=UTC -c standard_conforming_strings=on';
        private const MYSQL_SESSION = [
            "set names utf8mb4 collate utf8mb4_general_ci, time_zone = '+00:00', autocommit = 1, completion_type = 0,
                sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
                sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615, sql_auto_is_null = 0,
                unique_checks = 1, foreign_key_checks = 1, default_storage_engine = InnoDB, group_concat_max_len = 65536",
            'set session transaction isolation level repeatable read, read write',
        ];

        private ?PDO $pdo = null;
        /** The project's folder, which a script may leave. */
        private readonly string $folder;

        public function __construct(private readonly ?string $url = null)
        {
            $this->folder = (string) getcwd();
        }

        /** Runs a statement with named parameters; returns the rows of a select. */
        public function query(string $sql, array $params = []): array
        {
            return $this->statement($sql, $params)->fetchAll(PDO::FETCH_ASSOC);
        }

        /** Runs a statement with named parameters and returns the number of changed rows. */
        public function execute(string $sql, array $params = []): int
        {
            return $this->statement($sql, $params)->rowCount();
        }

        /** Prepares and runs a statement. */
        public function statement(string $sql, array $params = []): PDOStatement
        {
            $statement = $this->pdo()->prepare($sql);
            foreach ($params as $name => $value) {
                $type = match (true) {
                    is_bool($value) => PDO::PARAM_BOOL,
                    is_int($value) => PDO::PARAM_INT,
                    $value === null => PDO::PARAM_NULL,
                    is_string($value) && preg_match('//u', $value) !== 1 => PDO::PARAM_LOB,
                    default => PDO::PARAM_STR,
                };
                $statement->bindValue(is_int($name) ? $name + 1 : ':' . ltrim($name, ':'), $value, $type);
            }
            $statement->execute();
            return $statement;
        }

        /** The connection, opened on first use. */
        public function pdo(): PDO
        {
            return $this->pdo ??= self::connect($this->url ?? $this->databaseUrl());
        }

        /** Forgets the connection: the next statement opens another. The terminal calls this after a crash. */
        public function reconnect(): void
        {
            if ($this->pdo?->inTransaction()) {
                fwrite(STDERR, "An open transaction of \$executor was lost with its connection\n");
            }
            $this->pdo = null;
        }

        private static function connect(string $url): PDO
        {
            // parse_url() refuses a URL without a host, such as one that names a socket's folder.
            $parts = parse_url((string) preg_replace('~^\w+://([^/?#]*@)?(?=/)~', '$0localhost', $url));
            $driver = ['postgres' => 'pgsql', 'postgresql' => 'pgsql', 'mysql' => 'mysql', 'mariadb' => 'mysql'][strtok($url, ':')] ?? null;
            if ($driver === null) {
                throw new InvalidArgumentException('DATABASE_URL must begin with postgres://, postgresql://, mysql:// or mariadb://');
            }
            if ($parts === false) {
                throw new InvalidArgumentException('DATABASE_URL is not a URL');
            }
            if (!in_array($driver, PDO::getAvailableDrivers(), true)) {
                throw new RuntimeException("php has no driver for this database (Debian: apt-get install php-{$driver})");
            }
            parse_str($parts['query'] ?? '', $query);
            if ($driver === 'mysql' && ($query['sslmode'] ?? '') !== 'disable' && preg_grep('/ssl|tls/i', array_keys($query))) {
                throw new InvalidArgumentException(
                    'DATABASE_URL asks for TLS, and this terminal connects to MySQL in clear only; use the terminal of TypeScript',
                );
            }
            $settings = [
                'host' => trim($query['host'] ?? rawurldecode($parts['host'] ?? 'localhost'), '[]'),
                'port' => $parts['port'] ?? ($driver === 'pgsql' ? 5432 : 3306),
                'dbname' => rawurldecode(ltrim($parts['path'] ?? '', '/')),
                ...($driver === 'mysql' ? ['charset' => 'utf8mb4'] : [
                    ...array_intersect_key($query, ['sslmode' => 1, 'sslrootcert' => 1]),
                    'client_encoding' => 'UTF8',
                    'options' => trim(($query['options'] ?? '') . ' ' . self::POSTGRES_SESSION),
                ]),
            ];
            $pdo = new PDO(
                self::dataSource($driver, $settings),
                rawurldecode($parts['user'] ?? ''),
                rawurldecode($parts['pass'] ?? ''),
                [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_STRINGIFY_FETCHES => false],
            );
            foreach ($driver === 'mysql' ? self::MYSQL_SESSION : [] as $sql) {
                $pdo->exec($sql);
            }
            return $pdo;
        }

        /** Writes a data source name: each driver quotes values differently, and not as a URL does. */
        private static function dataSource(string $driver, array $settings): string
        {
            $pairs = [];
            foreach ($settings as $name => $value) {
                // PDO replaces a semicolon by a space, in quotes too.
                if ($driver === 'pgsql' && str_contains((string) $value, ';')) {
                    throw new InvalidArgumentException('DATABASE_URL contains a semicolon, which PDO cannot pass to PostgreSQL');
                }
                $text = (string) $value;
                $pairs[] = $name . '=' . ($driver === 'pgsql' ? "'" . addcslashes($text, "'\\") . "'" : str_replace(';', ';;', $text));
            }
            return "{$driver}:" . implode(';', $pairs);
        }

        /** The setting of the services: the environment, else the file that CREDENTIALS_FILE names, else config/<APP_ENV>/. */
        private function databaseUrl(): string
        {
            $url = getenv('DATABASE_URL');
            $environment = getenv('APP_ENV') ?: 'dev';
            $mounted = getenv('CREDENTIALS_FILE') ?: null;
            if (!$url && $mounted !== null && !is_readable($mounted)) {
                throw new RuntimeException('CREDENTIALS_FILE cannot be read');
            }
            $folder = "{$this->folder}/config/{$environment}";
            foreach ([$mounted, "{$folder}/credentials.env", "{$folder}/settings.env"] as $file) {
                $text = $url || $file === null ? '' : (string) @file_get_contents($file);
                if (preg_match('/^\s*DATABASE_URL\s*=\s*(["\']?)(.*?)\1\s*$/m', $text, $match) === 1) {
                    $url = $match[2];
                }
            }
            return $url ?: throw new RuntimeException("DATABASE_URL is not set, neither in the environment nor in config/{$environment}/");
        }
    }
}

if (!function_exists('dump')) {
    /** Prints values, bounded in size. */
    function dump(mixed ...$values): void
    {
        foreach ($values as $value) {
            $renderer = 'Latchkey\Scriptify\Terminal\Renderer';
            echo class_exists($renderer, false) ? $renderer::render($value) : var_export($value, true), "\n";
        }
    }
}

if (!function_exists('qq')) {
    /** Runs a query with optional named parameters and prints its rows as a table. */
    function qq(string $sql, array $params = []): void
    {
        $begin = hrtime(true);
        $statement = $GLOBALS['executor']->statement($sql, $params);
        $rows = $statement->columnCount() > 0 ? $statement->fetchAll(PDO::FETCH_NUM) : [];
        $milliseconds = number_format((hrtime(true) - $begin) / 1e6, 1);
        if ($statement->columnCount() === 0) {
            echo "{$statement->rowCount()} row(s) changed ({$milliseconds} ms)\n";
            return;
        }
        $title = static fn (int $i): string => $statement->getColumnMeta($i)['name'] ?? (string) $i;
        $titles = array_map($title, range(0, $statement->columnCount() - 1));
        echo qq_table($titles, $rows), count($rows), " row(s) ({$milliseconds} ms)\n";
    }

    /** Aligns cells below their titles; NULL is a word, sixteen bytes are a UUID. */
    function qq_table(array $titles, array $rows, int $maxRows = 1000, int $maxWidth = 80): string
    {
        $text = static function (mixed $value) use ($maxWidth): string {
            $value = is_resource($value) ? (string) stream_get_contents($value) : $value;
            $value = match (true) {
                $value === null => 'NULL',
                is_bool($value) => $value ? 'true' : 'false',
                is_string($value) && preg_match('//u', $value) !== 1 && strlen($value) === 16
                    => implode('-', sscanf(bin2hex($value), '%8s%4s%4s%4s%12s')),
                is_string($value) && preg_match('//u', $value) !== 1 => '0x' . bin2hex($value),
                default => strtr((string) $value, ["\n" => '\n', "\r" => '\r', "\t" => '\t', "\e" => '\e']),
            };
            return iconv_strlen($value) > $maxWidth ? iconv_substr($value, 0, $maxWidth - 1) . '…' : $value;
        };
        $lines = [$titles, ...array_map(static fn (array $row): array => array_map($text, $row), array_slice($rows, 0, $maxRows))];
        $widths = array_map(static fn (int $i): int => max(array_map('iconv_strlen', array_column($lines, $i))), array_keys($titles));
        $print = static fn (array $cells): string => rtrim(implode(' | ', array_map(
            static fn (string $cell, int $width): string => $cell . str_repeat(' ', $width - iconv_strlen($cell)),
            $cells,
            $widths,
        ))) . "\n";
        $rule = implode('-+-', array_map(static fn (int $width): string => str_repeat('-', $width), $widths)) . "\n";
        $hidden = count($rows) - $maxRows;
        return $print($lines[0]) . $rule . implode('', array_map($print, array_slice($lines, 1))) . ($hidden > 0 ? "… {$hidden} more\n" : '');
    }
}

if (!function_exists('uuid_to_bin')) {
    /** Returns the sixteen bytes of a UUID, written with dashes or without, in braces or not, in either case. */
    function uuid_to_bin(string $uuid): string
    {
        if (preg_match('/\A(\{)?([0-9a-f]{8})(-?)([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{12})(?(1)\})\z/i', $uuid, $m) !== 1) {
            throw new InvalidArgumentException("'{$uuid}' is not a UUID");
        }
        return hex2bin($m[2] . $m[4] . $m[5] . $m[6] . $m[7]);
    }
}

$executor = new ScriptifyExecutor();
