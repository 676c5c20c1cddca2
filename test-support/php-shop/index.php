<?php

// A PHP application on the tables of the specification: passwords are SHA-1, tokens are its own.
declare(strict_types=1);

$db = new PDO(getenv('DSN'), getenv('DB_USER'), getenv('DB_PASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$db->exec(getenv('ON_CONNECT'));
$given = json_decode(file_get_contents('php://input'), true);

function execute(PDO $db, string $sql, array $values): PDOStatement
{
    $statement = $db->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function token(string $username): string
{
    $encode = fn (string $bytes) => rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    $claims = ['iss' => getenv('API_SERVER'), 'iat' => time(), 'exp' => time() + 3600, 'data' => ['name' => $username, 'role' => 'admin']];
    $signed = $encode(json_encode(['alg' => 'HS512', 'typ' => 'JWT'])) . '.' . $encode(json_encode($claims));
    return $signed . '.' . $encode(hash_hmac('sha512', $signed, base64_decode(getenv('JWT_SECRET')), true));
}

try {
    switch ($_SERVER['REQUEST_URI']) {
        case '/register':
            execute($db, 'insert into users (name, email, username, password) values (?, ?, ?, ?)', [
                $given['username'], $given['email'], $given['username'], sha1($given['password']),
            ]);
            break;
        case '/password':
            execute($db, 'update users set password = ? where username = ?', [sha1($given['password']), $given['username']]);
            break;
        case '/login':
            $stored = execute($db, 'select password from users where username = ? and deleted_at is null', [$given['username']])->fetchColumn();
            if (!is_string($stored) || !hash_equals($stored, sha1($given['password']))) {
                http_response_code(401);
            } else {
                echo json_encode(['token' => token($given['username'])]);
            }
    }
} catch (PDOException $error) {
    http_response_code(str_starts_with((string) $error->getCode(), '23') ? 409 : 500);
    error_log($error->getMessage());
}
