-- Nothing to do: InnoDB keeps each row with its primary key.
do 0;
