<?php if (
