import FoundationEssentials
import Testing

@testable import BelfryService

/// Plurals, numbers and dates by language, as Babel 2.19 writes them from CLDR 49.
@Suite struct LanguageTests {
    private static let numbers: [String] =
        (Array(0...31) + Array(100...115) + [121, 1_000, 1_000_000, 2_000_000, 21_000_000]).map { "\($0)" }
        + ["0.5", "1.5", "2.5", "1.1", "1.11", "10.21", "21.5", "0.11"]

    /// A letter for the category of each number.
    private static let categories: [(tags: String, letters: String)] = [
        (
            "en en-gb af az bg de el et eu fi hu ka kk mr nb nl sq sv sw ta te tr ur",
            "o1ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo"
        ),
        (
            "ar",
            "z12ffffffffmmmmmmmmmmmmmmmmmmmmmoooffffffffmmmmmmoooooooooooo"
        ),
        (
            "be ru uk",
            "m1fffmmmmmmmmmmmmmmmm1fffmmmmmm1m1fffmmmmmmmmmmm1mmmmoooooooo"
        ),
        (
            "bn fa hi vi",
            "11ooooooooooooooooooooooooooooooooooooooooooooooooooo1oooooo1"
        ),
        (
            "bs hr sr sr-latn",
            "o1fffoooooooooooooooo1fffoooooo1o1fffooooooooooo1ooooooo1o1oo"
        ),
        (
            "ca es gl it pt-pt",
            "o1oooooooooooooooooooooooooooooooooooooooooooooooommmoooooooo"
        ),
        (
            "cs sk",
            "o1fffoooooooooooooooooooooooooooooooooooooooooooooooommmmmmmm"
        ),
        (
            "cy",
            "z12foomoooooooooooooooooooooooooooooooooooooooooooooooooooooo"
        ),
        (
            "da",
            "o1ooooooooooooooooooooooooooooooooooooooooooooooooooo11o11oo1"
        ),
        (
            "fil",
            "1111o1o11o1111o1o11o1111o1o11o111111o1o11o1111o11111111111111"
        ),
        (
            "fr pt",
            "11oooooooooooooooooooooooooooooooooooooooooooooooommm11o11oo1"
        ),
        (
            "ga",
            "o12ffffmmmmoooooooooooooooooooooooooooooooooooooooooooooooooo"
        ),
        (
            "he",
            "o12oooooooooooooooooooooooooooooooooooooooooooooooooo1oooooo1"
        ),
        (
            "hy",
            "11ooooooooooooooooooooooooooooooooooooooooooooooooooo11o11oo1"
        ),
        (
            "id ja ko ms th zh",
            "ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo"
        ),
        (
            "is mk",
            "o1ooooooooooooooooooo1ooooooooo1o1oooooooooooooo1ooooooo1o1oo"
        ),
        (
            "lt",
            "o1ffffffffooooooooooo1ffffffffo1o1ffffffffoooooo1oooommmmmmmm"
        ),
        (
            "lv",
            "z1oooooooozzzzzzzzzzz1ooooooooz1z1oooooooozzzzzz1zzzzooo1z1oz"
        ),
        (
            "pl",
            "m1fffmmmmmmmmmmmmmmmmmfffmmmmmmmmmfffmmmmmmmmmmmmmmmmoooooooo"
        ),
        (
            "ro",
            "f1ffffffffffffffffffooooooooooooofffffffffffffffoooooffffffff"
        ),
        (
            "sl",
            "o12ffoooooooooooooooooooooooooooo12ffooooooooooooooooffffffff"
        ),
    ]

    @Test(arguments: categories)
    func `a number takes the plural of CLDR`(tags: String, letters: String) throws {
        let names: [Character: PluralCategory] = [
            "z": .zero, "1": .one, "2": .two, "f": .few, "m": .many, "o": .other,
        ]
        for tag in tags.split(separator: " ") {
            let language = Language.of(String(tag))
            #expect(language.tag == tag)
            var found: Set<PluralCategory> = []
            for (text, letter) in zip(Self.numbers, letters) {
                let category = language.plural.category(of: try #require(WrittenNumber(.text(text))))
                #expect(category == names[letter], "\(tag) \(text)")
                found.insert(category)
            }
            #expect(Set(language.plural.categories) == found.union([.other]), "\(tag)")
        }
    }

    @Test(arguments: [
        ("en", "1,234,567.5", "3/1/2027", "March 1, 2027", "2:05 PM"),
        ("en-GB", "1,234,567.5", "01/03/2027", "1 March 2027", "14:05"),
        ("en_GB", "1,234,567.5", "01/03/2027", "1 March 2027", "14:05"),
        ("de", "1.234.567,5", "1.3.2027", "1. März 2027", "14:05"),
        ("fr", "1\u{202F}234\u{202F}567,5", "01/03/2027", "1 mars 2027", "14:05"),
        ("es", "1.234.567,5", "1/3/2027", "1 de marzo de 2027", "14:05"),
        ("pt-PT", "1\u{A0}234\u{A0}567,5", "01/03/2027", "1 de março de 2027", "14:05"),
        ("nl", "1.234.567,5", "1-3-2027", "1 maart 2027", "14:05"),
        ("sv", "1\u{A0}234\u{A0}567,5", "2027-03-01", "1 mars 2027", "14:05"),
        ("fi", "1\u{A0}234\u{A0}567,5", "1.3.2027", "1. maaliskuuta 2027", "14.05"),
        ("pl", "1\u{A0}234\u{A0}567,5", "1.03.2027", "1 marca 2027", "14:05"),
        ("cs", "1\u{A0}234\u{A0}567,5", "1. 3. 2027", "1. března 2027", "14:05"),
        ("hr", "1.234.567,5", "01. 03. 2027.", "1. ožujka 2027.", "14:05"),
        ("hu", "1\u{A0}234\u{A0}567,5", "2027. 03. 01.", "2027. március 1.", "14:05"),
        ("ru", "1\u{A0}234\u{A0}567,5", "01.03.2027", "1 марта 2027 г.", "14:05"),
        ("lv", "1\u{A0}234\u{A0}567,5", "1.03.2027.", "2027. gada 1. marts", "14:05"),
        ("ca", "1.234.567,5", "1/3/2027", "1 de març del 2027", "14:05"),
        ("eu", "1.234.567,5", "2027/3/1", "2027(e)ko martxoaren 1(a)", "14:05"),
        ("he", "1,234,567.5", "1.3.2027", "1 במרץ 2027", "14:05"),
        ("ar", "1,234,567.5", "1‏/3‏/2027", "1 مارس 2027", "2:05 م"),
        ("ja", "1,234,567.5", "2027/3/1", "2027年3月1日", "14:05"),
        ("ko", "1,234,567.5", "2027/3/1", "2027년 3월 1일", "오후 2:05"),
        ("th", "1,234,567.5", "1/3/2027", "1 มีนาคม ค.ศ. 2027", "14:05 น."),
        ("vi", "1.234.567,5", "1/3/2027", "1 tháng 3, 2027", "14:05"),
        ("da", "1.234.567,5", "1.3.2027", "1. marts 2027", "14.05"),
        ("hi", "12,34,567.5", "1/3/2027", "1 मार्च 2027", "2:05 pm"),
        ("", "1234567.5", "2027-03-01", "2027-03-01", "14:05"),
        ("xx-YY", "1234567.5", "2027-03-01", "2027-03-01", "14:05"),
    ])
    func `numbers and dates follow the language`(
        tag: String, number: String, short: String, long: String, clock: String
    ) throws {
        let language = Language.of(tag)
        #expect(language.text(of: try #require(WrittenNumber(1_234_567.5))) == number)
        let time = try LocalTime("2027-03-01T14:05", field: "")
        #expect(language.date(time, isLong: false) == short && language.date(time, isLong: true) == long)
        #expect(language.clock(time) == clock)
    }

    @Test(arguments: [
        ("de-AT", "de"), ("EN-us", "en"), ("en-AU", "en-gb"), ("no", "nb"), ("zh-Hant-TW", "zh"), ("x", ""),
    ])
    func `a form of a language takes its row`(tag: String, row: String) {
        #expect(Language.of(tag).tag == row)
    }

    @Test(
        arguments: [
            (0, nil, "0"), (-0.0001, nil, "0"), (-1_234.5, nil, "-1,234.5"), (0.125, 2, "0.12"), (2, 2, "2.00"),
            (1.0625, nil, "1.062"), (999.9996, nil, "1,000"), (0.05, nil, "0.05"), (12, nil, "12"),
            (123_456, nil, "123,456"),
            (1e15, nil, nil), (.infinity, nil, nil), (.nan, nil, nil),
        ] as [(Double, Int?, String?)])
    func `a number has its decimals and its limit`(number: Double, decimals: Int?, text: String?) {
        #expect(WrittenNumber(number, decimals: decimals).map { Language.of("en").text(of: $0) } == text)
    }

    @Test func `midnight and noon have their halves`() throws {
        for (time, text) in [
            ("00:30", "12:30 AM"), ("12:00", "12:00 PM"), ("11:59", "11:59 AM"), ("23:07", "11:07 PM"),
        ] {
            #expect(Language.of("en").clock(try LocalTime("2027-03-01T\(time)", field: "")) == text)
        }
    }
}
