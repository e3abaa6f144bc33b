BboxesJPs'ΣAM BΥMύADκB2/EBϋC;AεύWBμ
ΏA6Υ@ώ“3AΚΐ†AxBTq@B ΟU><ΡQB‡M©AΤj?BχF?VBEFε@