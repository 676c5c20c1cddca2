<?php namespace App; class Broken { public function
