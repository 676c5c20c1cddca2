<?php

namespace App;

class Types
{
    public const LIMIT = 5;

    public function defaults(?array $list = null, int $limit = self::LIMIT, \DateTime $at = new \DateTime('today'), string|int ...$rest): void
    {
    }
}
