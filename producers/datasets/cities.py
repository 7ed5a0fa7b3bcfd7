"""Real cities with what an address register says of them: country, region, coordinates, postal and area codes."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class City:
    """A city.

    Attributes:
        country_code: ISO 3166-1, two letters.
        region: ISO 3166-2 code of its first-level division, without the country.
        area_code: Its telephone area code.
        metro_code: Nielsen's market number in the United States; 0 elsewhere, where there is none.
    """

    name: str
    country_code: str
    region: str
    latitude: float
    longitude: float
    postal_code: str
    area_code: int
    metro_code: int


_TABLE: Final = """\
Seoul|KR|11|37.5665|126.9780|04524|2|0
Busan|KR|26|35.1796|129.0756|47545|51|0
Incheon|KR|28|37.4563|126.7052|21554|32|0
Daegu|KR|27|35.8714|128.6014|41911|53|0
Daejeon|KR|30|36.3504|127.3845|35242|42|0
Gwangju|KR|29|35.1595|126.8526|61945|62|0
Jeju|KR|49|33.4996|126.5312|63122|64|0
Tokyo|JP|13|35.6762|139.6503|100-0001|3|0
Osaka|JP|27|34.6937|135.5023|530-0001|6|0
Nagoya|JP|23|35.1815|136.9066|450-0002|52|0
Fukuoka|JP|40|33.5902|130.4017|810-0001|92|0
Sapporo|JP|01|43.0618|141.3545|060-0001|11|0
Beijing|CN|BJ|39.9042|116.4074|100000|10|0
Shanghai|CN|SH|31.2304|121.4737|200000|21|0
Guangzhou|CN|GD|23.1291|113.2644|510000|20|0
Shenzhen|CN|GD|22.5431|114.0579|518000|755|0
Taipei|TW|TPE|25.0330|121.5654|100|2|0
Hong Kong|HK|HK|22.3193|114.1694|999077|0|0
Singapore|SG|01|1.3521|103.8198|018956|0|0
Bangkok|TH|10|13.7563|100.5018|10200|2|0
Hanoi|VN|HN|21.0278|105.8342|100000|24|0
Jakarta|ID|JK|-6.2088|106.8456|10110|21|0
Manila|PH|00|14.5995|120.9842|1000|2|0
Kuala Lumpur|MY|14|3.1390|101.6869|50000|3|0
Mumbai|IN|MH|19.0760|72.8777|400001|22|0
Delhi|IN|DL|28.7041|77.1025|110001|11|0
Bengaluru|IN|KA|12.9716|77.5946|560001|80|0
Chennai|IN|TN|13.0827|80.2707|600001|44|0
Sydney|AU|NSW|-33.8688|151.2093|2000|2|0
Melbourne|AU|VIC|-37.8136|144.9631|3000|3|0
Auckland|NZ|AUK|-36.8509|174.7645|1010|9|0
Dubai|AE|DU|25.2048|55.2708|00000|4|0
Istanbul|TR|34|41.0082|28.9784|34000|212|0
Tel Aviv|IL|TA|32.0853|34.7818|6100000|3|0
Cairo|EG|C|30.0444|31.2357|11511|2|0
Lagos|NG|LA|6.5244|3.3792|100001|1|0
Nairobi|KE|30|-1.2921|36.8219|00100|20|0
Johannesburg|ZA|GP|-26.2041|28.0473|2000|11|0
Cape Town|ZA|WC|-33.9249|18.4241|8001|21|0
London|GB|LND|51.5074|-0.1278|SW1A 1AA|20|0
Manchester|GB|MAN|53.4808|-2.2426|M1 1AE|161|0
Edinburgh|GB|EDH|55.9533|-3.1883|EH1 1YZ|131|0
Dublin|IE|D|53.3498|-6.2603|D01 F5P2|1|0
Paris|FR|IDF|48.8566|2.3522|75001|1|0
Lyon|FR|ARA|45.7640|4.8357|69001|4|0
Marseille|FR|PAC|43.2965|5.3698|13001|4|0
Berlin|DE|BE|52.5200|13.4050|10115|30|0
Munich|DE|BY|48.1351|11.5820|80331|89|0
Hamburg|DE|HH|53.5511|9.9937|20095|40|0
Frankfurt am Main|DE|HE|50.1109|8.6821|60311|69|0
Amsterdam|NL|NH|52.3676|4.9041|1012|20|0
Brussels|BE|BRU|50.8503|4.3517|1000|2|0
Zurich|CH|ZH|47.3769|8.5417|8001|44|0
Vienna|AT|9|48.2082|16.3738|1010|1|0
Madrid|ES|MD|40.4168|-3.7038|28001|91|0
Barcelona|ES|CT|41.3874|2.1686|08001|93|0
Lisbon|PT|11|38.7223|-9.1393|1100-148|21|0
Rome|IT|62|41.9028|12.4964|00118|6|0
Milan|IT|25|45.4642|9.1900|20121|2|0
Stockholm|SE|AB|59.3293|18.0686|111 20|8|0
Copenhagen|DK|84|55.6761|12.5683|1050|33|0
Oslo|NO|03|59.9139|10.7522|0150|22|0
Helsinki|FI|18|60.1699|24.9384|00100|9|0
Warsaw|PL|14|52.2297|21.0122|00-001|22|0
Prague|CZ|10|50.0755|14.4378|110 00|2|0
Budapest|HU|BU|47.4979|19.0402|1051|1|0
Athens|GR|I|37.9838|23.7275|105 57|21|0
New York|US|NY|40.7128|-74.0060|10001|212|501
Los Angeles|US|CA|34.0522|-118.2437|90001|213|803
Chicago|US|IL|41.8781|-87.6298|60601|312|602
San Francisco|US|CA|37.7749|-122.4194|94102|415|807
Seattle|US|WA|47.6062|-122.3321|98101|206|819
Boston|US|MA|42.3601|-71.0589|02108|617|506
Dallas|US|TX|32.7767|-96.7970|75201|214|623
Atlanta|US|GA|33.7490|-84.3880|30303|404|524
Denver|US|CO|39.7392|-104.9903|80202|303|751
Toronto|CA|ON|43.6532|-79.3832|M5H 2N2|416|0
Vancouver|CA|BC|49.2827|-123.1207|V6B 1A1|604|0
Montreal|CA|QC|45.5017|-73.5673|H2Y 1C6|514|0
Mexico City|MX|CMX|19.4326|-99.1332|06000|55|0
Bogota|CO|DC|4.7110|-74.0721|110111|1|0
Lima|PE|LMA|-12.0464|-77.0428|15001|1|0
Santiago|CL|RM|-33.4489|-70.6693|8320000|2|0
Buenos Aires|AR|C|-34.6037|-58.3816|C1002|11|0
Sao Paulo|BR|SP|-23.5505|-46.6333|01000-000|11|0
Rio de Janeiro|BR|RJ|-22.9068|-43.1729|20000-000|21|0
"""


def _city(line: str) -> City:
    name, country_code, region, latitude, longitude, postal_code, area_code, metro_code = line.split("|")
    return City(
        name, country_code, region, float(latitude), float(longitude), postal_code, int(area_code), int(metro_code)
    )


CITIES: Final = tuple(_city(line) for line in _TABLE.splitlines())
"""The cities, one part of the world after the other."""
