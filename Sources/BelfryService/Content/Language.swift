/// How a language writes numbers and dates, and which plural a number takes.
///
/// A tag that is not in the table takes the row of the language that it is a form of, else neutral forms: `one` for 1, `2027-03-01`,
/// `14:30`.
final class Language: Sendable, Hashable {
    let tag: String
    let plural: PluralRule
    private let point: String
    private let group: String
    /// The digits of each group before the last, which has three.
    private let groupSize: Int
    private let shortDate: String
    private let longDate: String
    private let clock: String
    private let halves: [String]
    private let months: [String]

    static let neutral = Language(
        tag: "", plural: .one, separators: [".", ""], forms: ["y-MM-dd", "y-MM-dd", "HH:mm"], halves: [], months: [])

    private init(
        tag: String, plural: PluralRule, separators: [String], forms: [String], halves: [String], months: [String]
    ) {
        (self.tag, self.plural, self.halves, self.months) = (tag, plural, halves, months)
        (point, group, groupSize) = (separators[0], separators[1], separators.count > 2 ? 2 : 3)
        (shortDate, longDate, clock) = (forms[0], forms[1], forms[2])
    }

    static func == (left: Language, right: Language) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// The language of a tag such as `de-AT`.
    static func of(_ tag: String?) -> Language {
        var tag = (tag ?? "").asLanguage
        while !tag.isEmpty {
            if let known = known[aliases[tag] ?? tag] { return known }
            tag = tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
        }
        return neutral
    }
}

// MARK: Numbers

/// A number as it is written: digits before and behind the point.
struct WrittenNumber: Sendable, Hashable {
    let isNegative: Bool
    let whole: Int64
    /// The digits behind the point as a number, and how many there are.
    let fraction: Int64
    let decimals: Int

    static let decimalsMax = 3
    /// Numbers from here on have no forms: their thousandths are not exact.
    static let limit = 1e15

    /// - Parameter decimals: how many are shown; nil for as many as there are, `decimalsMax` at most.
    init?(_ number: Double, decimals: Int? = nil) {
        guard number.magnitude < Self.limit else { return nil }
        let powers: [Int64] = [1, 10, 100, 1_000]
        var shown = decimals ?? Self.decimalsMax
        let scaled = Int64((number.magnitude * Double(powers[shown])).rounded(.toNearestOrEven))
        whole = scaled / powers[shown]
        var fraction = scaled % powers[shown]
        while decimals == nil, shown > 0, fraction % 10 == 0 { (shown, fraction) = (shown - 1, fraction / 10) }
        (self.fraction, self.decimals) = (fraction, shown)
        isNegative = number < 0 && scaled != 0
    }

    /// nil for a text that is no number, such as one of a device.
    init?(_ value: UserAttribute, decimals: Int? = nil) {
        switch value {
        case .number(let number): self.init(number, decimals: decimals)
        case .text(let text):
            guard let number = Double(spelled: text) else { return nil }
            self.init(number, decimals: decimals)
        case .flag, .time: return nil
        }
    }
}

extension Language {
    func text(of number: WrittenNumber) -> String {
        var digits = Array(String(number.whole))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(contentsOf: group, at: place)
            place -= groupSize
        }
        let whole = (number.isNegative ? "-" : "") + String(digits)
        return number.decimals == 0 ? whole : whole + point + Self.padded(number.fraction, to: number.decimals)
    }

    private static func padded(_ number: Int64, to count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}

// MARK: Dates

extension Language {
    func date(_ time: LocalTime, isLong: Bool) -> String { write(time, as: isLong ? longDate : shortDate) }
    func clock(_ time: LocalTime) -> String { write(time, as: clock) }

    /// Fills in a pattern of CLDR: `y`, `M`, `MM`, `MMMM`, `d`, `dd`, `H`, `HH`, `h`, `mm`, `a`; quotes hold plain text.
    private func write(_ time: LocalTime, as pattern: String) -> String {
        let (year, month, day) = RFC3339.date(time.day)
        let (hour, minute) = (time.second / 3_600, time.second / 60 % 60)
        var text = ""
        var rest = pattern[...]
        while let first = rest.first {
            let run = rest.prefix { $0 == first }
            rest = rest[run.endIndex...]
            switch first {
            case "'":
                text += rest.prefix { $0 != "'" }
                rest = rest.drop { $0 != "'" }.dropFirst()
            case "y": text += String(year)
            case "M" where run.count == 4: text += months[Int(month) - 1]
            case "M": text += Self.padded(month, to: run.count)
            case "d": text += Self.padded(day, to: run.count)
            case "H": text += Self.padded(hour, to: run.count)
            case "h": text += String((hour + 11) % 12 + 1)
            case "m": text += Self.padded(minute, to: run.count)
            case "a": text += halves[hour < 12 ? 0 : 1]
            default: text += run
            }
        }
        return text
    }
}

// MARK: Plurals

/// The categories of CLDR, by their keywords.
enum PluralCategory: String, Sendable, Hashable, CaseIterable { case zero, one, two, few, many, other }

/// Which category a number has. A rule has the tag of a language that it is for.
///
/// Source: CLDR 49, plurals.xml; UTS #35, Part 3, "Plural Operand Meanings".
enum PluralRule: String, Sendable {
    /// 1 and 1.0; 1 alone; no distinction.
    case n1, one, none
    case ar, be, cs, cy, da, es, fil, fr, ga, he, hi, hr, hy, `is`, it, lt, lv, mk, pl, ro, ru, sl

    /// The categories that some number has.
    var categories: [PluralCategory] {
        switch self {
        case .none: [.other]
        case .n1, .one, .da, .fil, .hi, .hy, .is, .mk: [.one, .other]
        case .es, .fr, .it: [.one, .many, .other]
        case .he: [.one, .two, .other]
        case .hr, .ro: [.one, .few, .other]
        case .lv: [.zero, .one, .other]
        case .sl: [.one, .two, .few, .other]
        case .be, .cs, .lt, .pl, .ru: [.one, .few, .many, .other]
        case .ga: [.one, .two, .few, .many, .other]
        case .ar, .cy: PluralCategory.allCases
        }
    }

    func category(of number: WrittenNumber) -> PluralCategory {
        let (i, f, v) = (number.whole, number.fraction, number.decimals)
        /// The value, where it is whole.
        let n: Int64? = f == 0 ? i : nil
        /// The last digits of what is shown.
        let last = v == 0 ? i : f
        let isOne = i == 1 && v == 0
        switch self {
        case .none: return .other
        case .n1: return n == 1 ? .one : .other
        case .one: return isOne ? .one : .other
        case .da: return n == 1 || f != 0 && i <= 1 ? .one : .other
        case .hi: return i == 0 || n == 1 ? .one : .other
        case .hy: return i <= 1 ? .one : .other
        case .es: return n == 1 ? .one : number.isMillions ? .many : .other
        case .fr: return i <= 1 ? .one : number.isMillions ? .many : .other
        case .it: return isOne ? .one : number.isMillions ? .many : .other
        case .fil: return [4, 6, 9].contains(last % 10) ? .other : .one
        case .mk: return last.isOneBySlavicRule ? .one : .other
        case .is: return (f == 0 ? i : number.fractionWithoutZeros).isOneBySlavicRule ? .one : .other
        case .he: return isOne || i == 0 && v != 0 ? .one : i == 2 && v == 0 ? .two : .other
        case .hr: return last.isOneBySlavicRule ? .one : last.isFewBySlavicRule ? .few : .other
        case .ru, .be:
            guard let whole = self == .ru ? (v == 0 ? i : nil) : n else { return .other }
            return whole.isOneBySlavicRule ? .one : whole.isFewBySlavicRule ? .few : .many
        case .pl:
            guard v == 0 else { return .other }
            return i == 1 ? .one : i.isFewBySlavicRule ? .few : .many
        case .cs:
            guard v == 0 else { return .many }
            return i == 1 ? .one : 2...4 ~= i ? .few : .other
        case .sl:
            guard v == 0 else { return .few }
            return [1: .one, 2: .two, 3: .few, 4: .few][i % 100] ?? .other
        case .ro: return isOne ? .one : v != 0 || i == 0 || i != 1 && 1...19 ~= i % 100 ? .few : .other
        case .lt:
            guard let n else { return .many }
            return 11...19 ~= n % 100 || n % 10 == 0 ? .other : n % 10 == 1 ? .one : .few
        case .lv:
            if let n, n % 10 == 0 || 11...19 ~= n % 100 { return .zero }
            if v == 2, 11...19 ~= f % 100 { return .zero }
            return n.map { $0 % 10 == 1 } ?? false || f % 10 == 1 ? .one : .other
        case .ga:
            guard let n else { return .other }
            return n == 1 ? .one : n == 2 ? .two : 3...6 ~= n ? .few : 7...10 ~= n ? .many : .other
        case .cy:
            return n.flatMap { [0: .zero, 1: .one, 2: .two, 3: .few, 6: .many][$0] } ?? .other
        case .ar:
            guard let n else { return .other }
            if n <= 2 { return [.zero, .one, .two][Int(n)] }
            return 3...10 ~= n % 100 ? .few : n % 100 >= 11 ? .many : .other
        }
    }
}

extension WrittenNumber {
    fileprivate var isMillions: Bool { decimals == 0 && whole != 0 && whole % 1_000_000 == 0 }

    fileprivate var fractionWithoutZeros: Int64 {
        var fraction = fraction
        while fraction != 0, fraction % 10 == 0 { fraction /= 10 }
        return fraction
    }
}

extension Int64 {
    fileprivate var isOneBySlavicRule: Bool { self % 10 == 1 && self % 100 != 11 }
    fileprivate var isFewBySlavicRule: Bool { 2...4 ~= self % 10 && !(12...14 ~= self % 100) }
}

// MARK: The table

extension Language {
    /// Tags whose forms are those of another.
    private static let aliases = [
        "no": "nb", "nn": "nb", "tl": "fil", "iw": "he", "in": "id", "en-au": "en-gb", "en-hk": "en-gb",
        "en-ie": "en-gb", "en-in": "en-gb", "en-nz": "en-gb", "en-sg": "en-gb", "en-za": "en-gb",
    ]

    /// By tag with case folded.
    private static let known = Dictionary(
        uniqueKeysWithValues: table.split(separator: "\n").map { row in
            let cells = row.split(separator: " |", omittingEmptySubsequences: false).map { String($0.trimmingSpaces) }
            let separators = cells[2].map { ["_": "\u{A0}", "~": "\u{202F}"][$0] ?? String($0) }
            let language = Language(
                tag: cells[0], plural: PluralRule(rawValue: cells[1]) ?? .one, separators: separators,
                forms: Array(cells[3...5]), halves: cells[6].split(separator: " ").map(String.init),
                months: cells[7].split(separator: ",").map(String.init))
            return (cells[0], language)
        })

    /// Tag, plural rule, decimal point and mark of groups (`_` and `~` stand for no-break spaces; 2 for groups of two), short and long
    /// date, time of day, its halves, and the months where a date has their names.
    ///
    /// Source: CLDR 49, as Babel 2.19 has it: `yMd`, the long date, the short time, the months of a date.
    private static let table = """
        en | one | ., | M/d/y | MMMM d, y | h:mm a | AM PM | January,February,March,April,May,June,July,August,September,October,November,December
        en-gb | one | ., | dd/MM/y | d MMMM y | HH:mm |  | January,February,March,April,May,June,July,August,September,October,November,December
        af | n1 | ,_ | y-MM-dd | dd MMMM y | HH:mm |  | Januarie,Februarie,Maart,April,Mei,Junie,Julie,Augustus,September,Oktober,November,Desember
        ar | ar | ., | d‏/M‏/y | d MMMM y | h:mm a | ص م | يناير,فبراير,مارس,أبريل,مايو,يونيو,يوليو,أغسطس,سبتمبر,أكتوبر,نوفمبر,ديسمبر
        az | n1 | ,. | dd.MM.y | d MMMM y | HH:mm |  | yanvar,fevral,mart,aprel,may,iyun,iyul,avqust,sentyabr,oktyabr,noyabr,dekabr
        be | be | ,_ | d.M.y | d MMMM y 'г'. | HH:mm |  | студзеня,лютага,сакавіка,красавіка,мая,чэрвеня,ліпеня,жніўня,верасня,кастрычніка,лістапада,снежня
        bg | n1 | ,_ | d.MM.y 'г'. | d MMMM y 'г'. | H:mm |  | януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември
        bn | hi | .,2 | d/M/y | d MMMM, y | h:mm a | AM PM | জানুয়ারি,ফেব্রুয়ারি,মার্চ,এপ্রিল,মে,জুন,জুলাই,আগস্ট,সেপ্টেম্বর,অক্টোবর,নভেম্বর,ডিসেম্বর
        bs | hr | ,. | d. M. y. | d. MMMM y. | HH:mm |  | januar,februar,mart,april,maj,juni,juli,august,septembar,oktobar,novembar,decembar
        ca | it | ,. | d/M/y | d MMMM 'del' y | H:mm |  | de gener,de febrer,de març,d’abril,de maig,de juny,de juliol,d’agost,de setembre,d’octubre,de novembre,de desembre
        cs | cs | ,_ | d. M. y | d. MMMM y | H:mm |  | ledna,února,března,dubna,května,června,července,srpna,září,října,listopadu,prosince
        cy | cy | ., | d/M/y | d MMMM y | HH:mm |  | Ionawr,Chwefror,Mawrth,Ebrill,Mai,Mehefin,Gorffennaf,Awst,Medi,Hydref,Tachwedd,Rhagfyr
        da | da | ,. | d.M.y | d. MMMM y | HH.mm |  | januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december
        de | one | ,. | d.M.y | d. MMMM y | HH:mm |  | Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember
        el | n1 | ,. | d/M/y | d MMMM y | h:mm a | π.μ. μ.μ. | Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μαΐου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου
        es | es | ,. | d/M/y | d 'de' MMMM 'de' y | H:mm |  | enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre
        et | one | ,_ | d.M.y | d. MMMM y | HH:mm |  | jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember
        eu | n1 | ,. | y/M/d | y('e')'ko' MMMM'ren' d('a') | HH:mm |  | urtarrila,otsaila,martxoa,apirila,maiatza,ekaina,uztaila,abuztua,iraila,urria,azaroa,abendua
        fa | hi | ., | y/M/d | d MMMM y | H:mm |  | ژانویه,فوریه,مارس,آوریل,مه,ژوئن,ژوئیه,اوت,سپتامبر,اکتبر,نوامبر,دسامبر
        fi | one | ,_ | d.M.y | d. MMMM y | H.mm |  | tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta
        fil | fil | ., | M/d/y | MMMM d, y | h:mm a | AM PM | Enero,Pebrero,Marso,Abril,Mayo,Hunyo,Hulyo,Agosto,Setyembre,Oktubre,Nobyembre,Disyembre
        fr | fr | ,~ | dd/MM/y | d MMMM y | HH:mm |  | janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre
        ga | ga | ., | dd/MM/y | d MMMM y | HH:mm |  | Eanáir,Feabhra,Márta,Aibreán,Bealtaine,Meitheamh,Iúil,Lúnasa,Meán Fómhair,Deireadh Fómhair,Samhain,Nollaig
        gl | it | ,_ | d/M/y | d 'de' MMMM 'de' y | HH:mm |  | xaneiro,febreiro,marzo,abril,maio,xuño,xullo,agosto,setembro,outubro,novembro,decembro
        he | he | ., | d.M.y | d בMMMM y | H:mm |  | ינואר,פברואר,מרץ,אפריל,מאי,יוני,יולי,אוגוסט,ספטמבר,אוקטובר,נובמבר,דצמבר
        hi | hi | .,2 | d/M/y | d MMMM y | h:mm a | am pm | जनवरी,फ़रवरी,मार्च,अप्रैल,मई,जून,जुलाई,अगस्त,सितंबर,अक्टूबर,नवंबर,दिसंबर
        hr | hr | ,. | dd. MM. y. | d. MMMM y. | HH:mm |  | siječnja,veljače,ožujka,travnja,svibnja,lipnja,srpnja,kolovoza,rujna,listopada,studenoga,prosinca
        hu | n1 | ,_ | y. MM. dd. | y. MMMM d. | H:mm |  | január,február,március,április,május,június,július,augusztus,szeptember,október,november,december
        hy | hy | ,_ | dd.MM.y | y թ. MMMM d | HH:mm |  | հունվարի,փետրվարի,մարտի,ապրիլի,մայիսի,հունիսի,հուլիսի,օգոստոսի,սեպտեմբերի,հոկտեմբերի,նոյեմբերի,դեկտեմբերի
        id | none | ,. | d/M/y | d MMMM y | HH.mm |  | Januari,Februari,Maret,April,Mei,Juni,Juli,Agustus,September,Oktober,November,Desember
        is | is | ,. | d.M.y | d. MMMM y | HH:mm |  | janúar,febrúar,mars,apríl,maí,júní,júlí,ágúst,september,október,nóvember,desember
        it | it | ,. | dd/MM/y | d MMMM y | HH:mm |  | gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre
        ja | none | ., | y/M/d | y年M月d日 | H:mm |  |
        ka | n1 | ,_ | d.M.y | d MMMM, y | HH:mm |  | იანვარი,თებერვალი,მარტი,აპრილი,მაისი,ივნისი,ივლისი,აგვისტო,სექტემბერი,ოქტომბერი,ნოემბერი,დეკემბერი
        kk | n1 | ,_ | dd.MM.y | y 'ж'. d MMMM | HH:mm |  | қаңтар,ақпан,наурыз,сәуір,мамыр,маусым,шілде,тамыз,қыркүйек,қазан,қараша,желтоқсан
        ko | none | ., | y/M/d | y년 M월 d일 | a h:mm | 오전 오후 |
        lt | lt | ,_ | y-MM-dd | y 'm'. MMMM d 'd'. | HH:mm |  | sausio,vasario,kovo,balandžio,gegužės,birželio,liepos,rugpjūčio,rugsėjo,spalio,lapkričio,gruodžio
        lv | lv | ,_ | d.MM.y. | y. 'gada' d. MMMM | HH:mm |  | janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris
        mk | mk | ,. | d.M.y 'г'. | d MMMM y 'г'. | HH:mm |  | јануари,февруари,март,април,мај,јуни,јули,август,септември,октомври,ноември,декември
        mr | n1 | .,2 | d/M/y | d MMMM, y | h:mm a | AM PM | जानेवारी,फेब्रुवारी,मार्च,एप्रिल,मे,जून,जुलै,ऑगस्ट,सप्टेंबर,ऑक्टोबर,नोव्हेंबर,डिसेंबर
        ms | none | ., | d/M/y | d MMMM y | h:mm a | PG PTG | Januari,Februari,Mac,April,Mei,Jun,Julai,Ogos,September,Oktober,November,Disember
        nb | n1 | ,_ | d.M.y | d. MMMM y | HH:mm |  | januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember
        nl | one | ,. | d-M-y | d MMMM y | HH:mm |  | januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december
        pl | pl | ,_ | d.MM.y | d MMMM y | HH:mm |  | stycznia,lutego,marca,kwietnia,maja,czerwca,lipca,sierpnia,września,października,listopada,grudnia
        pt | fr | ,. | dd/MM/y | d 'de' MMMM 'de' y | HH:mm |  | janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro
        pt-pt | it | ,_ | dd/MM/y | d 'de' MMMM 'de' y | HH:mm |  | janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro
        ro | ro | ,. | dd.MM.y | d MMMM y | HH:mm |  | ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie
        ru | ru | ,_ | dd.MM.y | d MMMM y 'г'. | HH:mm |  | января,февраля,марта,апреля,мая,июня,июля,августа,сентября,октября,ноября,декабря
        sk | cs | ,_ | d. M. y | d. MMMM y | H:mm |  | januára,februára,marca,apríla,mája,júna,júla,augusta,septembra,októbra,novembra,decembra
        sl | sl | ,. | d. M. y | d. MMMM y | HH:mm |  | januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december
        sq | n1 | ,_ | d.M.y | d MMMM y | h:mm a | p.d. m.d. | janar,shkurt,mars,prill,maj,qershor,korrik,gusht,shtator,tetor,nëntor,dhjetor
        sr | hr | ,. | d. M. y. | d. MMMM y. | HH:mm |  | јануар,фебруар,март,април,мај,јун,јул,август,септембар,октобар,новембар,децембар
        sr-latn | hr | ,. | d. M. y. | d. MMMM y. | HH:mm |  | januar,februar,mart,april,maj,jun,jul,avgust,septembar,oktobar,novembar,decembar
        sv | one | ,_ | y-MM-dd | d MMMM y | HH:mm |  | januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december
        sw | one | ., | d/M/y | d MMMM y | HH:mm |  | Januari,Februari,Machi,Aprili,Mei,Juni,Julai,Agosti,Septemba,Oktoba,Novemba,Desemba
        ta | n1 | .,2 | d/M/y | d MMMM, y | h:mm a | AM PM | ஜனவரி,பிப்ரவரி,மார்ச்,ஏப்ரல்,மே,ஜூன்,ஜூலை,ஆகஸ்ட்,செப்டம்பர்,அக்டோபர்,நவம்பர்,டிசம்பர்
        te | n1 | .,2 | d/M/y | d MMMM, y | h:mm a | AM PM | జనవరి,ఫిబ్రవరి,మార్చి,ఏప్రిల్,మే,జూన్,జులై,ఆగస్టు,సెప్టెంబర్,అక్టోబర్,నవంబర్,డిసెంబర్
        th | none | ., | d/M/y | d MMMM 'ค.ศ.' y | HH:mm น. |  | มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม
        tr | n1 | ,. | d.M.y | d MMMM y | HH:mm |  | Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık
        uk | ru | ,_ | dd.MM.y | d MMMM y 'р'. | HH:mm |  | січня,лютого,березня,квітня,травня,червня,липня,серпня,вересня,жовтня,листопада,грудня
        ur | one | ., | d/M/y | d MMMM، y | h:mm a | AM PM | جنوری,فروری,مارچ,اپریل,مئی,جون,جولائی,اگست,ستمبر,اکتوبر,نومبر,دسمبر
        vi | hi | ,. | d/M/y | d 'tháng 'M, y | HH:mm |  |
        zh | none | ., | y/M/d | y年M月d日 | HH:mm |  |
        """
}
