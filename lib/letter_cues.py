"""The cues: words and marks, in English, Portuguese and Spanish, that make a letter a choice.

Patterns only, for text as `letter_text.plain` leaves it; `letters.py` says in which order they count.
A pattern's one group (or its last) is the letter. None of them may backtrack over a whole reply: what
repeats is bounded, or cannot match what follows it.
"""

from __future__ import annotations

import re


def _compile(pattern: str, flags: int = re.I) -> re.Pattern[str]:
    return re.compile(pattern, flags)


LETTER = r"(?<![\w-])(?<!\w')([A-D])(?![\w+#])(?!'\w)(?!-\w)"  # the letter is a word of its own

# -- a reply or a line that is nothing but one letter --------------------------------------------
_LEFT, _RIGHT = r"[\s\"'`*_().,;:!¡¿\[\]{}<>#=|/\\•·-]*", r"[\s\"'`*_().,;:!\]}>|/\\]*"
BARE = re.compile(rf"{_LEFT}([A-Da-d])(?:{_RIGHT}|\s[.-]{{1,3}}\s?)")

# -- JSON ---------------------------------------------------------------------------------------
_KEYS = r"answer|letter|choice|option|selection|selected|resposta|letra|opcao|alternativa|escolha|respuesta|opcion"
_KEYS += r"|eleccion|gabarito"
_NO_CHOICE = r"wrong|incorrect|previous|prior|old|rejected|discarded|excluded|eliminated|superseded|stale|other"
_NO_CHOICE += r"|original|errada|incorreta|incorrecta|anterior|descartada|antiga|antigua|outra|otra|user|human|example"
JSON = _compile(rf"[\"'](?:(?!{_NO_CHOICE})\w{{1,20}}[_ -])?(?:{_KEYS})[\"']\s?:\s?[\"']\s?\(?([A-D])\b(?!'\w|[+#-])")
JSON_DENIED = _compile(r"[\"'](?:is_)?(?:correct|valid|answerable|answered)[\"']\s?:\s?false\b")
JSON_TEXT = _compile(r":\s?\"([^\"\\\n]{1,400})\"")

# -- the words of a choice ------------------------------------------------------------------------
SEP = r"[\s:=*_\"'`(\[>-]{0,12}"  # what may stand between a cue and its letter
NOUN = r"option|letter|choice|alternative|alternativa|opcao|letra|opcion"
_GOOD = r"correct|right|best|correta|certa|correcta|melhor|mejor|adequada|adecuada|recomendada|apropriada|apropiada"
_BE = r"is|be|e|é|es|seria|sera|sea|seja|ser"
_HERE = r"here|aqui|to (?:this|the|your) question|(?:d|n)esta (?:questao|pergunta)|a esta pregunta"
_HERE += r"|(?:in|for) this case|neste caso|en este caso"
_FILL = (
    rf"(?: (?:{_HERE})\b)?(?:{SEP}\b(?:final|{_GOOD}|would|must|should|has to|deve|debe|(?:mais|mas"
    rf"|most) \w{{1,20}}|{_BE}|que)\b){{0,6}}"
    rf"(?:{SEP}\b(?:a|la|the|na|pela|por la|for)\b)?(?:{SEP}\b(?:answer|{NOUN})\b)?(?:{SEP}\b(?:{_GOOD}|is|é|es"
    rf"|seria|would be)\b){{0,2}}"
    rf"(?:{SEP}\b(?:a|la|the)\b)?(?:{SEP}\b(?:{NOUN})\b)?"
    rf"(?: (?:not|nao|no) (?:(?:a|la|{NOUN}) )?[A-D],? (?:but|mas|e|sino)(?: (?:rather|sim|que))?\b(?: (?:a|la"
    rf"|{NOUN}))?)?"
)
_NAMES = (  # what the answer is called
    r"answer|ans(?=[:.])|resposta|respuesta|gabarito|correta|certa|correcta|(?:correct|verdict|veredito|veredicto)(?=:)"
    rf"|(?:my|minha|mi|final) (?:choice|pick|vote|guess|selection|recommendation|decision|decisao|escolha|opcao|aposta"
    rf"|voto|eleccion|opcion"
    r"|apuesta)(?: goes to)?|meu voto|recomendacao|recomendacion|recommendation"
    rf"|(?:chosen|selected) (?:{NOUN}|answer)|(?:{NOUN}|resposta|respuesta) (?:escolhida|elegida|selec?cionada)"
    rf"|(?:{_GOOD}|(?:most|best|mais|mas) \w{{1,20}}) (?:{NOUN}|one|pick|here)"
    r"|(?:melhor|mejor)(?= (?:é|e|es|seria) )|(?:opcao|alternativa|opcion|letra) (?:mais|mas) \w{1,20}|\\boxed"
)
_CHOOSING = r"choose|pick|select|go with|go for|going with|say|vote|recommend|prefer"  # only in the first person
_I_CHOOSE = (  # "escolho", "elegiría", "me quedo con": the verb's ending is the first person
    r"(?:escolh|opt|fic|qued|selec?cion|recomend|vot|chut|apost|(?<![lo] )(?<!u[mn] )marc)(?:o|ei"
    r"|[aei]?ria)(?: con| com|-me)?"
    r"|elij[oa]|elegi(?:ria)?|prefiero|prefiro|prefer[ei]ria|recomiendo|diria"
)
CUED = _compile(
    rf"(?<!\w)(?:{_NAMES}|(?P<first>{_CHOOSING})|{_I_CHOOSE})(?: \([^()\n]{{1,40}}\))?"
    rf"{_FILL}{SEP}{{{{0,3}}{SEP}{LETTER}"
)
FIRST_PERSON = _compile(
    r"(?:(?:\b(?:i|we)(?:'d|'ll|'m)?|\blet's|\blet me)(?: \w{1,12}){0,3}|^|[:;!]|\b(?:so|therefore|thus|to)),?\W{0,3}$"
)

_NOTHING_MORE = r"(?!\s+(?:about|that|to|in|only|if|when|unless|but|se|si|quando|cuando|mas|pero|except)\b|\s?\?)"
IS_RIGHT = _compile(
    rf"{LETTER}\)?[*_\"]{{0,3}} (?:is|e|é|es|esta|seems|parece)(?: (?:the|a|la|clearly|definitely|most|mais"
    rf"|mas)\b){{0,2}}"
    rf" (?:{_GOOD}|answer|resposta|respuesta)\b(?: (?:{NOUN}|answer|one|resposta|respuesta)\b)?{_NOTHING_MORE}"
)

# -- weaker: only where the clause begins with them -----------------------------------------------
_LEAN = (
    r"probably|(?:most )?likely|definitely|certainly|clearly|obviously|provavelmente|certamente|com certeza|claramente"
    r"|probablemente|seguramente|ciertamente|(?:sin|sem) duda|definitivamente|creo que|acho que|creio que|diria que"
    r"|(?:i )?(?:think|believe|guess)|i'm (?:\w{1,12} )?(?:confident|sure|certain|convinced)(?: that)?"
    r"|so|therefore|thus|hence|logo|portanto|entao|assim|por(?: lo)? tanto"
    r"|entonces|asi que"
    r"|por isso|por eso|conclusion|conclusao"
)
_IT_IS = r"it's|it is|it (?:must|has to) be|that's|that is|é|es|seria|sea|seja|tem que ser|tiene que ser"
_START = r"(?:^|(?<=[\n.;:!])|(?<=, )|(?<=[.;:!,] ))[\s*_\"'>#(-]{0,6}(?:(?:and|but|e|mas|y|pero) )?"
WEAK = _compile(
    rf"{_START}(?P<lean>(?:(?:{_LEAN})\b[,:]? ?){{0,2}})(?:"
    rf"(?:(?:{_IT_IS}) )?(?:(?:a|la|the|o) )?(?:{NOUN})(?: (?:is|e|é|es|a|la|correct|final))?{SEP}"
    rf"|(?P<is>{_IT_IS}) (?:(?:a|la) )?[*_\"(]{{0,3}}"
    rf"|(?P<only>(?:(?:a|la) )?[*_\"(]{{0,3}})){LETTER}"
)
MOST = _compile(  # "option A is the safest here"
    rf"{_START}(?:(?:{_LEAN})\b[,:]? ?)?(?:(?:a|la|the) )?(?:{NOUN}) {LETTER}\)? (?:is|e|é|es)(?: (?:the|a|la))?"
    rf" (?:{_GOOD}|most|mais|mas)\b{_NOTHING_MORE}"
)
LINE = re.compile(
    r"^[ >*_#-]{0,8}(?:\(([A-Da-d])\)|([A-Da-d])\)|([A-D])"
    r"(?:[.:]|[*_]{1,3}:?| -|(?=,? (?:because|since|porque|pois|ya que|as it|por ser)\b|, (?:not|e nao|nao|y no"
    r"|no) (?:a |la )?[A-D]\b)))[*_]{0,3}(?=,?\s|$)"
    r"|^(?:La|la|A|a|The) ([A-D])(?=,? (?:because|since|porque|pois|ya que)\b)|^[Ll]a ([A-D])(?=[.!]?$)",
    re.M,
)

# -- what takes a letter back -----------------------------------------------------------------------
AFTER = _compile(  # where a choice ends
    r"[\"'`*_)\]}>.,:;!]+(?=\s|$)|\s*$|\s*\n|\s+[(-]|\s+(?-i:Question|Answer|Explanation|Reason(?:ing)?|Rationale"
    r"|Confidence|Pergunta|Resposta|Explicacao|Justificativa|Pregunta|Respuesta|Explicacion|Justificacion):"
    r"|\s+(?:because|since|porque|pois|ya que|as it|given|dado que"
    r"|for|due to|por|pel[oa]|debido|devido|para|over|rather than|instead of|and not|em vez|en vez|ao inves)\b",
    re.I | re.M,
)
ENDS = _compile(
    r"[\"'`*_)\]}]*(?:[.!:;]| it is\W{0,2}$|,(?= (?:because|since|porque|pois|ya que)\b)|,?\s*$|\s?\n| -| \("
    r"| (?:because|since|porque|pois|ya que)\b)"
)
LAST = re.compile(r"[\s\"'`*_).\]}]*(?:\n|$)")
SEVERAL = re.compile(
    r"[\s)*\"']*(?:,|/|&|\+|(?:, ?)?\b(?:or|and|ou|e|y|o|u|and/or|e/ou|y/o)\b)\s*"
    r"(?:(?:maybe|perhaps|possibly|even|talvez|quiza|quizas|tal vez|both|also|tambem|tambien)\s)?"
    r"[(*\"']*(?:(?:the |a |la )?(?:option |opcao |opcion |alternativa |letra )?|a |la )[A-D](?![\w'])"
    r"|[\s)]*(?:,|/|&|\b(?:or|and|ou|e|y|o)\b)\s*\(?[a-d]\)"
)
NOT = _compile(
    r"(?:\b(?:not|cannot|never|nao|nunca|if|whether|(?<!no )doubt|neither|nobody|no one|ninguem|nadie"
    r"|nem|ni|unless|avoid|against|jamas"
    r"|rule out|reject"
    r"|(?<!, )no(?! (?:doubt|question|hay duda)))|n't|(?<!-)\b(?:se|si))\s+(?:[\w'-]+\s+){0,4}$"
    r"|\b(?:wrong|incorrect|worst|least|second|first|previous|earlier|discarded|eliminated|excluded|pior|peor"
    r"|menos|segunda"
    r"|primeira|primera) (?:best |correct |right |likely |possible )?$|\b(?:says|said|claims|claimed|diz|disse"
    r"|dice|dijo)\b"
)
REJECTED = _compile(
    r"[\s)*_:\"'-]{0,4}(?:(?:is|are|was|would be|e|é|es|esta|seria)\s)?(?:not|never|wrong|incorrect\w*"
    r"|incorret\w*|errad[oa]"
    r"|fals[ao]|nao|no|isn't|mala|too|descartad[ao]|ruled out)\b"
)
CONDITION = _compile(
    r"(?:^|[,:(]\s?)\W{0,3}(?:(?:and|but|e|mas|y|pero|even|only) )?(?:if|unless|se|si|caso|assuming|a menos)\s(.*)$"
)
_TO_CHOOSE = r"(?:escolher|responder|decidir|optar|dizer|chutar|apostar|elegir|escoger|decir|marcar)"
HAVING_TO = _compile(
    r"(?:i|we)(?: had| have|'m forced| am forced|'m| am| must| were)\b(?:.{0,12}\b(?:to|choose|pick"
    r"|not mistaken|right))|forced"
    r"|(?:eu )?(?:(?:tiver|tivesse|tenho) (?:de|que)|(?:for|fosse)(?: (?:para|preciso|necessario|obrigad[oa] a|mesmo))?"
    rf"(?=.{{0,20}}\b{_TO_CHOOSE})|(?:precisasse|precisar|devo)(?: (?:de|mesmo))? {_TO_CHOOSE})\b.{{0,25}}"
    rf"|nao me engano|no me equivoco|(?:yo )?(?:(?:tuviera|tuviese|tengo|hubiera) (?:que|de)|debo {_TO_CHOOSE}"
    rf"|fuera(?=.{{0,20}}\b{_TO_CHOOSE}))\b.{{0,25}}"
)
ONLY_IF = _compile(
    r"\W{0,4}\s(?:but only |only |so |somente |apenas |solo )?(?:if|unless|provided|se|si|caso|desde que"
    r"|a menos|siempre que|assuming)\b"
)
WOULD = _compile(r"\b(?:would be|seria)\b")
BUT = _compile(
    r"[^.!?\n]{0,80}?(?:\b(?:but|pero|except|however|porem|though)|, mas)\b"
    r"(?! (?:i|i'm|eu|nao (?:tenho|estou)|no (?:estoy|tengo)|sem|sin|with)\b)"
)
OTHERS = _compile(
    r"\b(?:many|some|most|others?|people|one|you|they|someone|muitos|alguns|outros|muchos|algunos|otros|alguien|alguem)"
    r"(?: \w{1,12}){0,3} (?:think|say|argue|choose|pick|believe|assume|claim|answer|diz|dir|pens|ach|escolh|dec"
    r"|dic|eleg|elig|crey|cre)\w*"
    r"|\b(?:many|some|most|others|people|someone|muitos|alguns|muchos|algunos)(?: \w{1,12}){0,2} (?:would|might"
    r"|could|can|may) $"
    r"|\b(?:at first|initially|a prime(?:i)?ra vista|inicialmente|al principio|a principio|tempting|tentador)\b"
)
ON_THE_OTHER_HAND = _compile(r"(?:, |; |\b)(?:but|however|yet|porem|pero|sin embargo)\b|, mas\b")
_SOURCE = (
    r"material|text|docu|docs|trech|fragment|passage|passagem|pasaje|chunk|changelog|context|source|fonte|fuente|evid"
    r"|release|not[ae]|secti|secao|seccion|code|codigo|card|excerpt|extract|extrato|vers|decis|\d|[\"'`]"
)
_ACCORDING = r"(?i:segundo|segun|according to|de acordo com|de acuerdo con|conforme)\s+(?:(?:[oa]s?|el|la|los|las)\s+)?"
_SOMEBODY = rf"(?=[A-Z][a-z])(?![^,.]{{0,60}}?(?i:{_SOURCE}))[^,.]{{1,60}}"
HEARSAY = re.compile(rf"\b{_ACCORDING}{_SOMEBODY},.{{0,12}}$")  # "Segundo o Joao, ", not "Segundo o texto, "
HEARSAY_AFTER = re.compile(rf"\W{{0,3}}\s{_ACCORDING}{_SOMEBODY}")
OUTDATED = _compile(  # what was once right is said beside what is now, or alone
    r"\b(?:superseded|old|older|outdated|obsolete|former|original|stale|deprecated|antig[oa]|obsolet[oa]|viej[oa])"
    r" (?:correct |right )?$"
)
FORMAT = _compile(r"\b(?:reply|respond|responda|responde|conteste|example|exemplo|ejemplo)\b")
NONE = _compile(
    r"\bnone of (?:these|them|the above|the options|the alternatives|[A-D],)|\bnenhuma d(?:as|elas)\b"
    r"|\bninguna de (?:las|ellas)\b"
    r"|\b(?:all|both) of (?:them|these|the above)\b|\b(?:todas|ambas) as\b|\btodas las\b"
)
_ERROR = (
    r"\b(?:misread|mistake|mistaken|i was wrong|correction|let me correct|i correct|scratch that|retract"
    r"|on second thought"
    r"|change my (?:mind|answer)|(?:that|this)(?:'s| is) (?:not right|not correct|wrong|incorrect|a mistake)"
    r"|(?:that|this) isn't right|li errado|li mal|me enganei|errei|enganei-me|isso (?:esta|é|e) (?:errado|incorreto)"
    r"|corrigindo|corrijo|correcao|pensando (?:bem|melhor|bien|mejor)|pensandolo|me equivoque|eso (?:esta"
    r"|es) (?:mal|incorrecto)"
    r"|eso no es|correccion|mudo (?:de|a|minha)|cambio (?:de|mi)|lei mal|leido mal|retiro"
    r"|i can(?:not|'t) (?:tell|decide|choose|pick)|nao (?:consigo|sei) (?:decidir|escolher|dizer)"
    r"|no (?:puedo|consigo|se) (?:decidir|elegir|decir|cual))\b"
)
_INTERJECTION = (
    r"(?:^|[.!?,;:(\n-]\s?)(?:no,? |oh,? |but |mas |pero )?(?:wait|hold on|hmm+|actually|sorry|espera|espere|na verdade"
    r"|en realidad|desculpe|desculpa|perdao|perdon|peraí|perai|ou melhor|o mejor dicho|or rather|alias)\b"
)
TAKEN_BACK = _compile(rf"{_ERROR}|{_INTERJECTION}")
_POSSIBLY = (
    r"could|might|may|should|pode|poderia|puede|podria|seria|talvez|quiza|quizas|tal vez|maybe|perhaps|or is it"
    r"|also|tambem|tambien"
)
OTHER = _compile(  # a letter that might be the choice as well
    rf"\b(?:{_POSSIBLY})(?: also| as well| tambem| tambien)?(?: (?:be|ser|seja|sea))?(?: (?:a|la|the))?(?: (?:{NOUN}))?"
    rf"[ (*\"]{{1,3}}{LETTER}"
    rf"|{LETTER}\)? (?:(?:is|e|é|es|could be|would be|pode ser|seria) )?(?:also|tambem|tambien|equally)\b"
)

# -- an option's text ---------------------------------------------------------------------------------
LEAD = _compile(
    rf"^\W{{0,6}}(?:(?:the|a|la|my|minha|mi|i|we|i'd|i'll|eu|yo|o|el)\s)?(?:(?:would|should|{_GOOD})\b\s?)?"
    rf"(?:{_NAMES}|{_CHOOSING}|{_I_CHOOSE}|{NOUN}|suggest|sugiro|sugiero|decision|decisao|solution|solucao|solucion)?"
    rf"(?:{SEP}\b(?:final|{_GOOD}|is|would be|e|é|es|seria|{NOUN})\b){{0,4}}(?: to\b)?\W{{0,6}}"
)
TEXT_THEN_LETTER = re.compile(r"\W{1,3}\(?([A-D])[).\s*\]]{0,4}$")
ECHO = re.compile(r"[(\[]\s?A\s?[,/|]\s?B\s?[,/|]\s?C\s?[,/|]?\s?(?:(?:or|and|ou|e|o|y|u)\s)?D\s?[)\]]")
REPEATED = re.compile(rf"{_LEFT}([A-D])(?:[\s,.]{{1,3}}\1)+{_RIGHT}")
ITEM = re.compile(r"\(([a-d])\)")
LISTED = re.compile(r"(?<!\w)(?<!\boption )(?<!\bthan )(?<!\bunlike )([A-D])(?:\)|[.:] (?=[A-Z]))")
EMPHASIS = re.compile(r"(?<!\w)_{1,2}([A-Da-d])_{1,2}(?!\w)")
PARENTHESIS = re.compile(r"\([^()]{0,200}\)")
INITIALS = re.compile(r"\s?[A-Z]\.")
