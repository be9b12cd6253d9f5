import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.NumberFormat;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.analysis.miscellaneous.PerFieldAnalyzerWrapper;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.queryparser.flexible.core.QueryNodeException;
import org.apache.lucene.queryparser.flexible.standard.StandardQueryParser;
import org.apache.lucene.queryparser.flexible.standard.config.PointsConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.TopFieldCollectorManager;
import org.apache.lucene.store.MMapDirectory;

/**
 * Indexes one document an address and answers questions over it. Arguments: a file of tab-separated rows, in the order
 * of the addresses, and an empty folder for the index. It prints "ready" and the number of documents, then for each
 * line of standard input, which is a query, one line: matches, nanoseconds, and the first addresses in their order.
 */
public final class Lucene {
  private static final int ROWS = 25;
  private static final String SEPARATOR = "\u001f";
  /** The columns of a row after the address. Several values of one are separated. */
  private static final String[] COLUMNS = {
    "tag", "port", "country", "asn", "hassh", "classification", "path", "useragent", "organization", "last_seen"
  };
  private static final Set<String> TEXTS = Set.of("useragent", "organization");

  private Lucene() {}

  public static void main(String[] args) throws IOException, QueryNodeException {
    Analyzer words = new StandardAnalyzer();
    Analyzer analyzer =
        new PerFieldAnalyzerWrapper(new KeywordAnalyzer(), Map.of("useragent", words, "organization", words));
    try (MMapDirectory directory = new MMapDirectory(Path.of(args[1]))) {
      index(Path.of(args[0]), directory, analyzer);
      try (DirectoryReader reader = DirectoryReader.open(directory)) {
        System.out.println("ready " + reader.numDocs());
        answer(new IndexSearcher(reader), parserOf(analyzer));
      }
    }
  }

  private static void index(Path rows, MMapDirectory directory, Analyzer analyzer) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(analyzer).setRAMBufferSizeMB(256);
    try (IndexWriter writer = new IndexWriter(directory, config);
        BufferedReader lines = Files.newBufferedReader(rows, StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) writer.addDocument(toDocument(line));
      // One segment: its documents are in the order of the addresses, and no search meets several.
      writer.forceMerge(1);
    }
  }

  private static Document toDocument(String line) {
    String[] cells = line.split("\t", -1);
    Document document = new Document();
    document.add(new StoredField("ip", cells[0]));
    for (int column = 0; column < COLUMNS.length; column++) {
      String name = COLUMNS[column];
      for (String value : cells[column + 1].split(SEPARATOR)) {
        if (value.isEmpty()) continue;
        if (name.equals("last_seen")) document.add(new LongPoint(name, Long.parseLong(value)));
        else if (TEXTS.contains(name)) document.add(new TextField(name, value, Field.Store.NO));
        else document.add(new StringField(name, value, Field.Store.NO));
      }
    }
    return document;
  }

  private static StandardQueryParser parserOf(Analyzer analyzer) {
    StandardQueryParser parser = new StandardQueryParser(analyzer);
    parser.setAllowLeadingWildcard(true);
    NumberFormat whole = NumberFormat.getIntegerInstance(Locale.ROOT);
    parser.setPointsConfigMap(Map.of("last_seen", new PointsConfig(whole, Long.class)));
    return parser;
  }

  private static void answer(IndexSearcher searcher, StandardQueryParser parser)
      throws IOException, QueryNodeException {
    // Otherwise a query that is asked again is answered from memory.
    searcher.setQueryCache(null);
    BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      long start = System.nanoTime();
      Query query = parser.parse(line, "tag");
      // Apart from the rows, so that Lucene can count without visiting every match, and end at the last row.
      int matches = searcher.count(query);
      var firstRows = new TopFieldCollectorManager(Sort.INDEXORDER, ROWS, null, ROWS);
      ScoreDoc[] hits = searcher.search(query, firstRows).scoreDocs;
      String[] addresses = new String[hits.length];
      for (int hit = 0; hit < addresses.length; hit++) addresses[hit] = addressOf(searcher, hits[hit]);
      long nanoseconds = System.nanoTime() - start;
      String listed = String.join(",", Arrays.asList(addresses));
      System.out.println(matches + "\t" + nanoseconds + "\t" + listed);
    }
  }

  private static String addressOf(IndexSearcher searcher, ScoreDoc hit) throws IOException {
    return searcher.storedFields().document(hit.doc).get("ip");
  }
}
