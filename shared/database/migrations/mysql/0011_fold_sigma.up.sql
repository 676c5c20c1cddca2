-- Nothing to do: the collation of the columns takes the two small sigmas for one letter.
do 0;
