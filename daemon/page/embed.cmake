# Writes the parts of the report's page into a C++ file as string literals:
#   cmake -DPARTS=DIRECTORY -DLIBRARY=d3.min.js -DOUT=FILE -P embed.cmake
set(text "#include \"daemon/page_parts.h\"\nnamespace thermocline {\n")
function(embed name)
  set(all "")
  foreach(file ${ARGN})
    file(READ ${file} part)
    string(APPEND all "${part}")
  endforeach()
  set(text "${text}const std::string_view ${name} = R\"part(${all})part\";\n"
    PARENT_SCOPE)
endfunction()
embed(kPageHtml ${PARTS}/head.html ${PARTS}/page.html ${PARTS}/foot.html)
embed(kPageCss ${PARTS}/page.css)
embed(kPageLicence ${PARTS}/d3.licence)
embed(kPageLibrary ${LIBRARY})
# In this order: words, what is drawn, and what draws the whole.
embed(kPageScript ${PARTS}/words.js ${PARTS}/chart.js ${PARTS}/whatif.js
  ${PARTS}/moves.js ${PARTS}/timeline.js ${PARTS}/heat.js ${PARTS}/objects.js
  ${PARTS}/page.js)
embed(kProbeHtml ${PARTS}/head.html ${PARTS}/probe.html ${PARTS}/foot.html)
embed(kProbeScript ${PARTS}/words.js ${PARTS}/chart.js ${PARTS}/probe.js)
file(WRITE ${OUT} "${text}}  // namespace thermocline\n")
