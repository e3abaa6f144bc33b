By1_0J<µ‚7Aa¡@ÐÈ6ACYd@›=A
5A‡êƒAº@ø0®Aü/EAnÅ‘AawUAb)Ai0A†Ò„A